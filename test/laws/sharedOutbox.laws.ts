/** A store in memory that several relays share keeps the laws of one. */
import { test } from 'vitest'
import { sharedInMemory } from '../support/brokenVersions.ts'
import { registerLaws, sharedOutboxLaws } from '../../src/testing/laws/index.ts'

registerLaws({ test }, sharedOutboxLaws(sharedInMemory()))
