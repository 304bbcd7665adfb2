import type { Link } from '../core/linkedList.ts'
import { counted, oneLine } from '../log/debug.ts'

/** One step of a story: numbers and references; its text is made when it is read. A batch has one for all. */
export interface StoryStep {
  /** When it began, milliseconds since 1970. */
  readonly at: number
  readonly kind: 'accepted' | 'taken' | 'failed' | 'waits' | 'held' | 'ended'
  /** Milliseconds of an attempt or a wait; attempts of an end. */
  readonly amount: number
  /** The name of the receiver, or how it ended. */
  readonly about: string
  /** A reason, or a status; `redriven` of an event that is accepted again. */
  readonly why: string | number
}

/** What is known of one event: no part of it but id, kind and size. Used again for another event. */
export class History implements Link<History> {
  older: History | undefined = undefined
  newer: History | undefined = undefined
  id = ''
  type = ''
  bytes = 0
  /** When its first step was told. */
  at = 0
  readonly steps: StoryStep[] = []
  /** Steps that are kept; those behind them are of the event before. */
  count = 0
  /** Steps that were left out between the first and the last ones. */
  omitted = 0
  requests = 0
  /** `Waiting`, or how it ended. */
  state = 'Waiting'
  /** When its next attempt is due. */
  due: number | undefined = undefined
}

/** A history keeps its first steps and its last ones. */
const MAX_STORY = 12
const FIRST_STEPS = 4

export const addStep = (history: History, step: StoryStep): void => {
  if (history.count === MAX_STORY) {
    history.steps.splice(FIRST_STEPS, 1)
    history.count--
    history.omitted++
  }
  history.steps[history.count++] = step
}

const textOf = ({ kind, amount, about, why }: StoryStep): string => {
  switch (kind) {
    case 'accepted':
      return String(why || kind)
    case 'taken':
      return `${String(why)} after ${String(Math.round(amount))} ms from ${about}`
    case 'failed':
      return `failed after ${String(Math.round(amount))} ms at ${about}: ${String(why)}`
    case 'waits':
      return `waits ${String(amount)} ms: ${String(why)}`
    case 'held':
      return `held back from ${about}: ${String(why)}`
    case 'ended': {
      const end = `${about.toLowerCase()} after ${counted(amount, 'attempt')}`
      return why === '' ? end : `${end}: ${String(why)}`
    }
  }
}
const shown = (step: StoryStep) => {
  const { at, kind } = step
  return { at, kind: kind === 'held' ? ('waits' as const) : kind, text: textOf(step) }
}

/** The facts of an event, without its steps. */
const factsOf = ({ id, type, bytes, at, requests, state, due }: History) => {
  return { id, type, bytes, at, requests, state, due }
}

/** The facts of an event, and why it waits: its last failure, or else its last step. */
export const showEvent = (history: History) => {
  const steps = history.steps.slice(0, history.count)
  const step = steps.findLast(({ kind }) => kind === 'failed' || kind === 'held') ?? steps.at(-1)
  const last = step?.kind === 'failed' ? `${step.about}: ${String(step.why)}` : step && textOf(step)
  return { ...factsOf(history), last }
}

/** All steps, in the order in which they were told, and a word where some are not known. */
export const storyOf = (history: History) => {
  const { omitted, at, count } = history
  const steps = history.steps.slice(0, count).map(shown)
  const note = (text: string) => ({ at, kind: 'waits' as const, text })
  if (omitted > 0) steps.splice(FIRST_STEPS, 0, note(`steps left out: ${String(omitted)}`))
  if (steps[0]?.kind !== 'accepted') steps.unshift(note('its first steps are not known'))
  return { ...factsOf(history), steps }
}

/** In one line: `m-17: failed after 26 ms at :4319: status 503; waits 38 ms: …; delivered …`. */
export const inOneLine = (history: History): string => {
  const told = storyOf(history).steps.filter(({ text }) => text !== 'accepted')
  return oneLine(`${history.id}: ${told.map(({ text }) => text).join('; ') || 'waits for its first attempt'}`)
}
