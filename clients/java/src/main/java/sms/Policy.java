package sms;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Pattern;

/** How long to wait for what, and when to stop. */
record Policy(
    Duration connectTimeout,
    Duration readTimeout,
    Duration backoffBase,
    Duration backoffCap,
    Duration retryAfterMax,
    Duration keyRetention,
    int maxAttempts) {

  private static final Pattern PART = Pattern.compile("(\\d+)(ms|s|m|h|d)");

  static Policy fromEnvironment(Map<String, String> env) {
    return new Policy(
        duration(env.getOrDefault("SMS_CONNECT_TIMEOUT", "3s")),
        duration(env.getOrDefault("SMS_READ_TIMEOUT", "10s")),
        duration(env.getOrDefault("SMS_BACKOFF_BASE", "500ms")),
        duration(env.getOrDefault("SMS_BACKOFF_CAP", "60s")),
        duration(env.getOrDefault("SMS_RETRY_AFTER_MAX", "15m")),
        duration(env.getOrDefault("SMS_KEY_RETENTION", "24h")),
        5);
  }

  /**
   * Equal jitter: half of the limit for certain, so that the attempts outlast a short outage, and
   * half drawn, so that those who failed together do not come back together.
   */
  Duration pause(int attempt) {
    long limit =
        Math.min(backoffCap.toMillis(), backoffBase.toMillis() << Math.min(attempt - 1, 16));
    return Duration.ofMillis(limit / 2 + ThreadLocalRandom.current().nextLong(limit / 2 + 1));
  }

  /** Reads "300ms", "1m 30s", "24h". */
  static Duration duration(String text) {
    var total = Duration.ZERO;
    for (var part : text.split(" ")) {
      var matched = PART.matcher(part);
      if (!matched.matches()) {
        throw new IllegalArgumentException("\"" + text + "\" is no duration");
      }
      var count = Long.parseLong(matched.group(1));
      total =
          total.plus(
              switch (matched.group(2)) {
                case "ms" -> Duration.ofMillis(count);
                case "s" -> Duration.ofSeconds(count);
                case "m" -> Duration.ofMinutes(count);
                case "h" -> Duration.ofHours(count);
                default -> Duration.ofDays(count);
              });
    }
    return total;
  }
}
