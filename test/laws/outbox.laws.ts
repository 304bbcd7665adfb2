/** The outbox in memory keeps the laws of an outbox. */
import { test } from 'vitest'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { files } from '../support/brokenVersions.ts'
import { outboxLaws, registerLaws } from '../../src/testing/laws/index.ts'

registerLaws(
  { test },
  outboxLaws(({ clock, bounds }) => memoryOutbox({ ...bounds, clock })),
)

registerLaws({ test: (name, run) => test(`on a scripted disk: ${name}`, run) }, outboxLaws(files()))
