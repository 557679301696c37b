/**
 * Milliseconds that the provider wants to be left alone: whole seconds or an HTTP-date. What is
 * past, negative or cannot be read asks for nothing.
 */
export function retryAfter(value: string | null, now: number): number {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // Date.parse alone would read "-1" as a year.
  if (!/^[A-Z][a-z]+, .* GMT$/.test(text)) return 0;
  const at = Date.parse(text);
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}
