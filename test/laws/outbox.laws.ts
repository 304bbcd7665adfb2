/** The outbox in memory keeps the laws of an outbox. */
import { test } from 'vitest'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { files } from '../support/brokenVersions.ts'
import { registerLaws } from '../../src/testing/laws/checkLaws.ts'
import { outboxLaws } from '../../src/testing/laws/outboxLaws.ts'

registerLaws(
  { test },
  outboxLaws(({ clock, bounds }) => memoryOutbox({ ...bounds, clock })),
)

registerLaws({ test: (name, run) => test(`on a scripted disk: ${name}`, run) }, outboxLaws(files()))
