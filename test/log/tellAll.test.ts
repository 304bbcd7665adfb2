import { describe, expect, it } from 'vitest'
import type { LogEvent, Listener } from '../../src/log/logEvent.ts'
import { isolate, allListeners } from '../../src/log/listeners.ts'
const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

const oops = (): never => {
  throw new Error('oops')
}
// Lint would have it that a Tell answers nothing; an async function is one all the same.
const rejects: () => unknown = () => Promise.reject(new Error('oops'))
const accepted: LogEvent = { _tag: 'Accepted', at: 3, item: 'a' }
const defect: LogEvent = { _tag: 'Defect', at: 3, where: 'x', error: undefined }

describe('allListeners', () => {
  it.each<[string, Listener]>([
    ['throws', oops],
    ['answers a promise that rejects', rejects],
  ])('tells the others everything when one %s, and what it did', async (_what, bad) => {
    const before: LogEvent[] = []
    const after: LogEvent[] = []
    const onEvent = allListeners(
      (event) => before.push(event),
      bad,
      undefined,
      (event) => after.push(event),
    )
    onEvent(accepted)
    onEvent(defect)
    await turn()
    for (const seen of [before, after]) {
      expect(seen).toHaveLength(3)
      expect(seen).toContain(accepted)
      expect(seen).toContain(defect)
      expect(seen.filter(({ _tag }) => _tag === 'Defect')).toContainEqual({
        _tag: 'Defect',
        at: 3,
        where: 'tell',
        error: new Error('oops'),
      })
    }
  })

  it('ends when everybody throws', () => {
    allListeners(oops, oops, oops)(accepted)
  })

  it('tells nobody', () => {
    allListeners()(accepted)
  })
})

describe('isolate', () => {
  it('survives a report that throws, then and later', async () => {
    isolate(oops, 0, oops)
    isolate(rejects, 0, oops)
    await turn()
  })
})
