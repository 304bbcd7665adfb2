/** A mutant that throws while its module is loaded leaves no test that could fail. This one is always there. */
import { expect, it } from 'vitest'

const failure = await import('../../src/index.ts').then(
  () => undefined,
  (error: unknown) => error,
)

it('loads', () => expect(failure).toBeUndefined())
