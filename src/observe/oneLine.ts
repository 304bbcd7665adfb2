/**
 * A text as it may stand in a log: what comes from outside may hold control characters, which could fake lines or steer a
 * terminal, so they are replaced.
 */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]/gu, '?')
