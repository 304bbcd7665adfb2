import type { Link } from '../core/linkedList.ts'

/** One step of a story. A batch has one for all its members. */
export interface StoryStep {
  /** When it began, milliseconds since 1970. */
  readonly at: number
  readonly kind: 'accepted' | 'taken' | 'failed' | 'waits' | 'ended'
  readonly text: string
}

/** What is known of one event: no part of it but id, kind and size. */
export interface History extends Link<History> {
  readonly id: string
  readonly type: string
  readonly bytes: number
  /** When its first step was told. */
  readonly at: number
  readonly steps: StoryStep[]
  /** Steps that were left out between the first and the last ones. */
  omitted: number
  attempts: number
  /** `Waiting`, or how it ended. */
  state: string
  /** When its next attempt is due. */
  due: number | undefined
}

/** A history keeps its first steps and its last ones. */
const MAX_STORY = 12
const FIRST_STEPS = 4

export const addStep = (history: History, step: StoryStep): void => {
  if (history.steps.push(step) <= MAX_STORY) return
  history.steps.splice(FIRST_STEPS, 1)
  history.omitted++
}

/** The facts of an event, without its steps. */
export const factsOf = ({ id, type, bytes, at, attempts, state, due }: History) => ({
  ...{ id, type, bytes, at, attempts, state, due },
})

/** All steps, in the order in which they were told, and a word where some are not known. */
export const storyOf = (history: History) => {
  const { steps, omitted, at } = history
  const note = (text: string): StoryStep => ({ at, kind: 'waits', text })
  const first = steps[0]?.kind === 'accepted' ? [] : [note('its first steps are not known')]
  const gap = omitted === 0 ? [] : [note(`steps left out: ${String(omitted)}`)]
  const all = [...first, ...steps.slice(0, FIRST_STEPS), ...gap, ...steps.slice(FIRST_STEPS)]
  return { ...factsOf(history), steps: all }
}

/** In one line: `m-17: status 503 after 26 ms from :4319; waits 38 ms: …; delivered after 2 attempts`. */
export const inOneLine = (history: History): string => {
  const told = storyOf(history).steps.filter(({ kind }) => kind !== 'accepted')
  return `${history.id}: ${told.map(({ text }) => text).join('; ') || 'waits for its first attempt'}`
}
