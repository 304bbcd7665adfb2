import { describe, expect, it } from 'vitest'
import type { Happening, Tell } from '../../src/observe/Happening.ts'
import { isolate } from '../../src/observe/isolate.ts'
import { tellAll } from '../../src/observe/tellAll.ts'

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

const oops = (): never => {
  throw new Error('oops')
}
// Lint would have it that a Tell answers nothing; an async function is one all the same.
const rejects: () => unknown = () => Promise.reject(new Error('oops'))
const accepted: Happening = { _tag: 'Accepted', at: 3, item: 'a' }
const defect: Happening = { _tag: 'Defect', at: 3, where: 'x', error: undefined }

describe('tellAll', () => {
  it.each<[string, Tell]>([
    ['throws', oops],
    ['answers a promise that rejects', rejects],
  ])('tells the others everything when one %s, and what it did', async (_what, bad) => {
    const before: Happening[] = []
    const after: Happening[] = []
    const tell = tellAll(
      (happening) => before.push(happening),
      bad,
      undefined,
      (happening) => after.push(happening),
    )
    tell(accepted)
    tell(defect)
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
    tellAll(oops, oops, oops)(accepted)
  })

  it('tells nobody', () => {
    tellAll()(accepted)
  })
})

describe('isolate', () => {
  it('survives a report that throws, then and later', async () => {
    isolate(oops, 0, oops)
    isolate(rejects, 0, oops)
    await turn()
  })
})
