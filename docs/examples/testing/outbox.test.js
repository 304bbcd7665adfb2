// Run by jest.
import { test } from '@jest/globals'
import { outboxLaws, registerLaws } from 'headrace/testing/laws'
import { ourOutbox } from './outbox.js'
import { planted } from './planted.js'

const makeOutbox = planted.outbox ?? ourOutbox
registerLaws({ test }, outboxLaws(makeOutbox))
