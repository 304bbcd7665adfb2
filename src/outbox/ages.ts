/**
 * When the entries that wait were accepted, in that order. An end takes its entry out, wherever it stands.
 *
 * @module
 */
import { linkedList, type Link } from '../core/linkedList.ts'

interface Age extends Link<Age> {
  readonly at: number
}

export const ages = () => {
  const inOrder = linkedList<Age>()
  const byId = new Map<string, Age>()

  return {
    accepted: (id: string, at: number): void => {
      if (byId.has(id)) return
      const age: Age = { at, older: undefined, newer: undefined }
      byId.set(id, age)
      inOrder.push(age)
    },
    /** An entry has another id: it was stored. It keeps its place. */
    renamed: (from: string, to: string): void => {
      const age = byId.get(from)
      if (age === undefined) return
      byId.delete(from)
      byId.set(to, age)
    },
    ended: (id: string): void => {
      const age = byId.size === 0 ? undefined : byId.get(id)
      if (age === undefined) return
      byId.delete(id)
      inOrder.remove(age)
    },
    /** When the oldest was accepted. */
    oldest: (): number | undefined => inOrder.oldest()?.at,
  }
}
