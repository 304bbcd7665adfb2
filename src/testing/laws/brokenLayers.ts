import { right } from 'fp-ts/lib/Either.js'
import { defer, lastValueFrom } from 'rxjs'
import type { Verdict } from '../../core/failure.ts'
import { makeLayer } from '../../sink/layer.ts'
import { onlyAttempt, type Sink } from '../../sink/sink.ts'
import type { World } from '../simulate.ts'
import type { MakeLayer } from './layerLaws.ts'
import { brokenVersions } from './law.ts'
import type { SinkItem } from './sinkWorld.ts'

const taken: Verdict = right({ sink: 'inner' })

/** A layer with other parts than the sink inside. */
const changed =
  (change: (sink: Sink<SinkItem>, world: World) => Partial<Sink<SinkItem>>): MakeLayer =>
  (world) =>
  ({ name, deliver, close }) => ({ name, deliver, close, ...change({ name, deliver, close }, world) })

/** Layers with one fault each. */
export const brokenLayers = brokenVersions<MakeLayer>()({
  'forgets the attempt': {
    breaks: 'layer/passes-attempt',
    make: changed(({ deliver }) => ({ deliver: (item) => deliver(item, onlyAttempt) })),
  },
  'tells its verdict at the end': {
    breaks: 'layer/passes-verdict',
    make: () => (sink) =>
      makeLayer(sink, (subscribe) => (item, attempt, observer) => {
        const verdicts: Verdict[] = []
        const tell = (): void => verdicts.forEach((verdict) => observer.next(verdict))
        return subscribe(item, attempt, {
          next: (verdict) => verdicts.push(verdict),
          complete: () => {
            tell()
            observer.complete()
          },
          error: (defect) => {
            tell()
            observer.error(defect)
          },
        })
      }),
  },
  'does not pass a cancel on': {
    breaks: 'layer/passes-cancel',
    make: changed(({ deliver }) => ({
      deliver: (item, attempt) => defer(() => lastValueFrom(deliver(item, attempt), { defaultValue: taken })),
    })),
  },
  'has a name of its own': { breaks: 'layer/keeps-name', make: changed(() => ({ name: 'layer' })) },
  'does not close the sink inside': {
    breaks: 'layer/passes-close',
    make: changed(() => ({ close: () => () => Promise.resolve() })),
  },
  'leaves a timer': {
    breaks: 'layer/leaves-no-timer',
    make: changed(({ deliver }, { clock }) => ({
      deliver: (item, attempt) =>
        defer(() => {
          clock.schedule(60_000, () => undefined)
          return deliver(item, attempt)
        }),
    })),
  },
})
