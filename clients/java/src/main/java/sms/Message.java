package sms;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.time.Instant;

/**
 * One SMS, as a line of the batch says it. The intent names it in the business and never changes:
 * it is the idempotency key of every attempt.
 */
record Message(
    String intent,
    String customer,
    String to,
    String body,
    @JsonProperty("expires_at") String expiresAt) {

  /** After this moment it is useless. */
  Instant expiry() {
    return expiresAt == null ? Instant.MAX : Instant.parse(expiresAt);
  }
}
