/** First success, failover and toAll over several attempts. Inside each other: compositions.laws.ts. */
import { it } from 'vitest'
import { failover, firstSuccess, toAll } from '../../src/index.ts'
import { failoverLaws, firstSuccessLaws, registerLaws, toAllLaws } from '../../src/testing/laws/index.ts'

registerLaws({ test: it }, [
  ...firstSuccessLaws((sinks) => firstSuccess(sinks)),
  ...failoverLaws((sinks) => failover(sinks)),
  ...toAllLaws((sinks) => toAll(sinks)),
])
