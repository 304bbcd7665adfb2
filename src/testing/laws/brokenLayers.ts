import { Observable, takeLast, takeUntil } from 'rxjs'
import type { Clock } from '../../core/clock.ts'
import { onlyAttempt } from '../../sink/sink.ts'
import { uncancelled, withDelivery } from './brokenSinks.ts'
import type { MakeLayer } from './layerLaws.ts'
import { brokenVersions } from './law.ts'

/** Layers with one fault each. */
export const brokenLayers = brokenVersions<MakeLayer>()({
  'forgets the attempt': {
    breaks: 'layer/passes-attempt',
    make:
      () =>
      ({ name, deliver, close }) => ({ name, deliver: (item) => deliver(item, onlyAttempt), close }),
  },
  'counts each attempt as the first': {
    breaks: 'layer/passes-in-a-pipeline',
    make: () => (sink) => ({
      ...sink,
      deliver: (item, attempt) => sink.deliver(item, { ...attempt, number: 1 }),
    }),
  },
  'keeps the clock of its first delivery': {
    breaks: 'layer/separates-clocks',
    make: () => {
      let clock: Clock | undefined
      const over$ = new Observable((over) => clock?.schedule(30_000, () => over.next(undefined)))
      return ({ name, deliver, close }) => ({
        ...{ name, close },
        deliver: (item, attempt) => {
          clock ??= attempt.clock
          return deliver(item, attempt).pipe(takeUntil(over$))
        },
      })
    },
  },
  'tells its verdict at the end': {
    breaks: 'layer/passes-verdict',
    make: () => (sink) => withDelivery(sink, (delivery) => delivery.pipe(takeLast(1))),
  },
  'does not pass a cancel on': {
    breaks: 'layer/passes-cancel',
    make: () => (sink) => withDelivery(sink, uncancelled),
  },
  'has a name of its own': {
    breaks: 'layer/keeps-name',
    make: () => (sink) => ({ ...sink, name: 'layer' }),
  },
  'does not close the sink inside': {
    breaks: 'layer/passes-close',
    make: () => (sink) => ({ ...sink, close: () => Promise.resolve() }),
  },
  'leaves a timer': {
    breaks: 'layer/leaves-no-timer',
    make:
      ({ clock }) =>
      (sink) =>
        withDelivery(sink, (delivery) => {
          clock.schedule(60_000, () => undefined)
          return delivery
        }),
  },
})
