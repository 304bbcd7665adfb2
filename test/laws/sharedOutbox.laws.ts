/** A store in memory that several relays share keeps the laws of one. */
import { test } from 'vitest'
import { sharedInMemory } from '../support/brokenVersions.ts'
import { registerLaws } from '../../src/testing/laws/checkLaws.ts'
import { sharedOutboxLaws } from '../../src/testing/laws/sharedOutboxLaws.ts'

registerLaws({ test }, sharedOutboxLaws(sharedInMemory()))
