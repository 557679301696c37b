import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Each message in one call: what is sent again is left to HttpURLConnection. */
class Send {
    static String field(String line, String name) {
        Matcher found = Pattern.compile("\"" + name + "\":\"((?:[^\"\\\\]|\\\\.)*)\"").matcher(line);
        if (!found.find()) throw new IllegalArgumentException(name + " is missing in " + line);
        return found.group(1);
    }

    static String send(String line) {
        try {
            URL url = new URL(System.getenv("SMS_API_BASE") + "/v1/messages");
            HttpURLConnection connection = (HttpURLConnection) url.openConnection();
            int timeout = (int) (1000 * Double.parseDouble(System.getenv("CALL_TIMEOUT")));
            connection.setConnectTimeout(timeout);
            connection.setReadTimeout(timeout);
            connection.setRequestMethod("POST");
            connection.setRequestProperty("Content-Type", "application/json");
            if (System.getenv("KEY").equals("yes")) {
                connection.setRequestProperty("Idempotency-Key", field(line, "intent"));
            }
            connection.setDoOutput(true);
            // Both are taken over as they are written: they are JSON already.
            String body = "{\"to\":\"" + field(line, "to") + "\",\"body\":\"" + field(line, "body") + "\"}";
            connection.getOutputStream().write(body.getBytes(StandardCharsets.UTF_8));
            int status = connection.getResponseCode();
            connection.getInputStream().readAllBytes();
            return status == 201 ? "sent" : "unknown";
        } catch (IOException e) {
            return "unknown";
        }
    }

    public static void main(String[] arguments) throws IOException {
        byte[] all = System.in.readAllBytes();
        for (String line : new String(all, StandardCharsets.UTF_8).split("\n")) {
            String outcome = send(line);
            String result = "{\"intent\":\"" + field(line, "intent") + "\",\"outcome\":\"" + outcome
                + "\",\"attempts\":1}\n";
            Files.writeString(Path.of(arguments[0]), result,
                StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }
    }
}
