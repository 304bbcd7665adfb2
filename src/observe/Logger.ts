/**
 * Where headrace writes what a person should know: a slot of four methods, which `console` and pino's loggers fit as they are.
 *
 * The message says everything by itself; the fields repeat it for machines. (pino drops what follows a message without a
 * placeholder, and then nothing is lost.) Neither ever holds a payload, a secret or a header's value.
 *
 * @module
 */

/** The facts of a message, for machines. */
export type Fields = Readonly<Record<string, string | number>>

/** Takes a line for people, and the same for machines. */
export type Log = (message: string, fields?: Fields) => void

/** Four levels. They are called as methods, so a logger that needs its `this` has it. */
export interface Logger {
  readonly debug: Log
  readonly info: Log
  readonly warn: Log
  readonly error: Log
}
