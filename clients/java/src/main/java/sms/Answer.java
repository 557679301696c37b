package sms;

import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;

/**
 * What one attempt came to.
 *
 * <p>The one question is whether the phone may buzz because of it. Only a whole 2xx that names the
 * message says yes, only a refusal says no; a lost answer says that nobody knows.
 */
record Answer(Kind kind, String detail, Duration retryAfter) {

  enum Kind {
    ACCEPTED,
    /** It will not be taken, now or later. */
    REFUSED,
    /** Not taken this time, for certain. */
    TURNED_AWAY,
    /** It may have been taken. */
    LOST
  }

  static Answer of(Kind kind, String detail) {
    return new Answer(kind, detail, Duration.ZERO);
  }

  /** What a status other than 2xx means. */
  static Answer ofStatus(int status, String retryAfter) {
    var kind =
        switch (status) {
          case 408, 425, 429, 503 -> Kind.TURNED_AWAY; // it says that it has not begun
          case 409 -> Kind.LOST; // an attempt under this key is in flight
          // A server error: it broke with the request in its hands.
          default -> status >= 500 ? Kind.LOST : Kind.REFUSED;
        };
    return new Answer(kind, Integer.toString(status), wait(retryAfter));
  }

  /**
   * Reads {@code Retry-After}: whole seconds or an HTTP-date. What is past, negative or cannot be
   * read asks for nothing.
   */
  private static Duration wait(String value) {
    var text = value.strip();
    if (text.matches("\\d+")) {
      // Too many digits are still a number: a huge one.
      return Duration.ofSeconds(text.length() > 9 ? 999_999_999 : Long.parseLong(text));
    }
    try {
      var at = ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant();
      var wait = Duration.between(Instant.now(), at);
      return wait.isNegative() ? Duration.ZERO : wait;
    } catch (DateTimeParseException e) {
      return Duration.ZERO;
    }
  }
}
