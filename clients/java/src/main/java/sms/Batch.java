package sms;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Sends a batch: one message for each line of JSON on standard input, and one line for each in the
 * file of results.
 */
public final class Batch {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int AT_ONCE = 64;

  private Batch() {}

  public static void main(String[] args) throws Exception {
    if (args.length != 1) {
      System.err.println("usage: java sms.Batch RESULTS < messages.jsonl");
      System.exit(64);
    }
    var policy = Policy.fromEnvironment(System.getenv());
    var sender = new Sender(new Provider(URI.create(System.getenv("SMS_API_BASE")), policy), policy);
    var pool = Executors.newFixedThreadPool(AT_ONCE);
    var sending = new ArrayList<Future<?>>();
    try (var results =
            FileChannel.open(
                Path.of(args[0]), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line; (line = lines.readLine()) != null; ) {
        var message = JSON.readValue(line, Message.class);
        sending.add(
            pool.submit(
                () -> {
                  write(results, sender.send(message));
                  return null;
                }));
      }
      for (var each : sending) {
        each.get();
      }
    } finally {
      pool.shutdown();
    }
  }

  private static synchronized void write(FileChannel results, Sender.Result result)
      throws IOException {
    var line = JSON.writeValueAsString(result) + "\n";
    results.write(ByteBuffer.wrap(line.getBytes(StandardCharsets.UTF_8)));
    results.force(false);
  }
}
