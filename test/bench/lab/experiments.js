// The experiments of the lab, each in three parts: what the server answers, what the host does with the peer, and what is read from both.
import { waiting } from './waiting.js'
import { working } from './working.js'

/**
 * @typedef {{ id: string, title: string, ask?: object, server?: (quick: boolean) => Function, play: Function, cell: Function,
 *   note?: Record<string, Function>, alone?: boolean, plainNode?: boolean, seconds?: [number, number] }} Experiment
 *
 * - `ask`: settings that differ from the peer's own
 * - `server(quick)`: the script of `scriptedServer`; undefined for no server at all
 * - `play({ open, say, sleep, quick })`: runs in the player's process; `{ stays: false }` lets the process end by itself
 * - `cell({ found, server, exit, life })`: one cell of the table, in words
 * - `note`: what is read from the server at the very moment when the player says so, by what it says
 * - `plainNode`: with Node as it is, where an unhandled rejection ends the process; elsewhere it is a warning
 * - `alone`: works the machine hard, so nothing else runs beside it
 * - `seconds`: after this time the player is ended, `[whole, quick]`
 */

/** @type {Experiment[]} */
export const experiments = [...waiting, ...working]
