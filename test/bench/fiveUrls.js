// What an event costs that goes to five URLs at once: the whole pipeline with a first success over five webhooks, against five
// `dispatch` calls that share one string and one signature. 32 events in flight, so up to 160 requests.
import { Event, ParsedEvent } from 'headrace/events'
import { bodiesToWrite, byDestination, byPipeline, headersOf, poolTo } from './flows.js'

const IN_FLIGHT = 32

/** Five `dispatch` calls with one string: the next event starts when all five of one are answered. */
const byDispatch = ({ urls }) => {
  const bodies = bodiesToWrite()
  const { pathname: path } = new URL(urls[0])
  const pools = urls.map(poolTo)
  const post = (body, done) => {
    const headers = Object.entries(headersOf(body)).flat()
    let open = pools.length
    const handler = {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseData: () => undefined,
      onResponseEnd: () => --open === 0 && done(),
      onResponseError: (_controller, error) => {
        throw error
      },
    }
    for (const pool of pools) pool.dispatch({ path, method: 'POST', headers, body }, handler)
  }
  return (units) =>
    new Promise((resolve) => {
      let sent = 0
      let ended = 0
      const next = () => {
        if (sent < units) post(JSON.stringify(bodies[sent++ % bodies.length]), done)
      }
      const done = () => {
        if (++ended === units) resolve()
        else next()
      }
      for (let i = 0; i < IN_FLIGHT; i++) next()
    })
}

export const cases = {
  'five dispatch calls with one string': byDispatch,
  'headrace, validate(Event)': ({ urls }) => byPipeline(urls, Event, IN_FLIGHT),
  'headrace, validate(ParsedEvent)': ({ urls }) => byPipeline(urls, ParsedEvent, IN_FLIGHT),
  'headrace, destination.send': ({ urls }) => byDestination(urls, IN_FLIGHT),
}

export const plans = [
  {
    ...{ cases: Object.keys(cases), ports: 5, requests: 5, units: 200, rounds: 120, warmUp: 60 },
    limits: { 'headrace, destination.send': 1.15 },
  },
]
