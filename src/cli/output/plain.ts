/**
 * A text that came from outside as it may stand in a line for people: control characters could fake lines or steer the terminal.
 *
 * @param most characters of it that are shown
 */
export const plain = (text: string, most = 80): string => {
  const shown = text.length > most ? `${text.slice(0, most)}…` : text
  return shown.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '?')
}
