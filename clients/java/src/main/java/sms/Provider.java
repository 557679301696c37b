package sms;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.LinkedHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The provider over HTTP: one call is one request, or one for each hop of a redirect. */
final class Provider {
  private static final int HOPS = 3;
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  private final URI messages;
  private final Policy policy;
  private final HttpClient http;

  Provider(URI base, Policy policy) {
    this.messages = URI.create(base.toString().replaceAll("/+$", "") + "/v1/messages");
    this.policy = policy;
    // It sends a POST once (HttpURLConnection does not) and follows no redirect.
    this.http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(policy.connectTimeout())
            .followRedirects(HttpClient.Redirect.NEVER)
            .proxy(HttpClient.Builder.NO_PROXY)
            .build();
  }

  /** The request's bytes, made once: a provider may compare them under the key. */
  static byte[] request(Message message) throws JsonProcessingException {
    var request = new LinkedHashMap<String, String>();
    request.put("to", message.to());
    request.put("body", message.body());
    return JSON.writeValueAsBytes(request);
  }

  /** Makes one attempt. */
  Answer submit(Message message, byte[] request) throws InterruptedException {
    var url = messages;
    for (int hop = 0; ; hop++) {
      var post =
          HttpRequest.newBuilder(url)
              .header("Idempotency-Key", message.intent())
              .header("Authorization", "Bearer " + message.customer())
              .header("Content-Type", "application/json")
              .POST(HttpRequest.BodyPublishers.ofByteArray(request))
              .build();
      var exchange = http.sendAsync(post, HttpResponse.BodyHandlers.ofByteArray());
      HttpResponse<byte[]> response;
      try {
        // HttpRequest's own timeout ends with the head; this one is for the body too.
        response = exchange.get(policy.readTimeout().toMillis(), TimeUnit.MILLISECONDS);
      } catch (TimeoutException e) {
        exchange.cancel(true); // hangs up
        return Answer.of(Answer.Kind.LOST, "timed out");
      } catch (ExecutionException e) {
        var cause = e.getCause();
        var neverConnected =
            cause instanceof ConnectException || cause instanceof HttpConnectTimeoutException;
        return Answer.of(
            neverConnected ? Answer.Kind.TURNED_AWAY : Answer.Kind.LOST, cause.toString());
      }
      var status = response.statusCode();
      if (status / 100 == 2) {
        return success(response.body());
      }
      var location = response.headers().firstValue("Location");
      if ((status == 307 || status == 308) && location.isPresent() && hop < HOPS) {
        var target = url.resolve(location.get());
        // To the same origin only: the text, the number and the credential go along.
        if (target.getScheme().equals(url.getScheme())
            && target.getAuthority().equals(url.getAuthority())) {
          url = target;
          continue;
        }
      }
      return Answer.ofStatus(status, response.headers().firstValue("Retry-After").orElse(""));
    }
  }

  /** Half an answer is no success: the JSON must be whole and name the message. */
  private static Answer success(byte[] body) {
    try {
      var id = JSON.readTree(body).path("id").asText("");
      return id.isEmpty()
          ? Answer.of(Answer.Kind.LOST, "a success that names no message")
          : Answer.of(Answer.Kind.ACCEPTED, id);
    } catch (java.io.IOException e) {
      return Answer.of(Answer.Kind.LOST, "a success that cannot be read");
    }
  }
}
