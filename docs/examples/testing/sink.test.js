// Run by vitest.
import { test } from 'vitest'
import { registerLaws, sinkLaws } from 'headrace/testing/laws'
import { planted } from './planted.js'
import { ourSink } from './sink.js'

const makeSink = planted.sink ?? ourSink
registerLaws(
  { test },
  sinkLaws(({ network }) => makeSink({ fetch: network.fetch })),
)
