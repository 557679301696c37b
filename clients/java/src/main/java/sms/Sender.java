package sms;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.time.Duration;
import java.time.Instant;

/** Sends a message, trying again under the one key for as long as that can help. */
final class Sender {
  /** How long before the expiry the last attempt begins. */
  private static final Duration EXPIRY_MARGIN = Duration.ofMillis(50);

  /** {@code outcome} is sent, dead (not sent, and not going to be) or unknown. */
  record Result(String intent, String outcome, int attempts, String detail) {}

  private final Provider provider;
  private final Policy policy;

  Sender(Provider provider, Policy policy) {
    this.provider = provider;
    this.policy = policy;
  }

  Result send(Message message) throws InterruptedException, JsonProcessingException {
    var request = Provider.request(message);
    var lastStart = message.expiry().minus(EXPIRY_MARGIN);
    // The last moment at which the provider is sure to know the key when a request arrives.
    var keyUntil = Instant.now().plus(policy.keyRetention()).minus(policy.readTimeout());
    var maybeAccepted = false;
    var attempts = 0;
    String reason;
    while (true) {
      if (Instant.now().isAfter(lastStart)) {
        reason = "expired";
        break;
      }
      attempts++;
      var answer = provider.submit(message, request);
      if (answer.kind() == Answer.Kind.ACCEPTED) {
        return new Result(message.intent(), "sent", attempts, answer.detail());
      }
      maybeAccepted |= answer.kind() == Answer.Kind.LOST;
      reason = answer.detail();
      if (answer.kind() == Answer.Kind.REFUSED
          || attempts >= policy.maxAttempts()
          || answer.retryAfter().compareTo(policy.retryAfterMax()) > 0) {
        break;
      }
      // Retry-After is a hard bound, and the jitter comes on top.
      var wait = answer.retryAfter().plus(policy.pause(attempts));
      var next = Instant.now().plus(wait);
      if (next.isAfter(lastStart) || next.isAfter(keyUntil)) {
        break;
      }
      Thread.sleep(wait.toMillis());
    }
    // After a lost answer even a refusal proves nothing: it speaks for its own attempt.
    return new Result(message.intent(), maybeAccepted ? "unknown" : "dead", attempts, reason);
  }
}
