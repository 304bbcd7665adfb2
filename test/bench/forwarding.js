// What a forwarded event costs: 1 KB, validated, encoded, signed, posted to one URL with 64 in flight, and accounted for; against
// bare undici `Pool.request` with `JSON.stringify` and HMAC, and beside it the HTTP clients that programs use.
import http from 'node:http'
import axios from 'axios'
import got from 'got'
import { Event, ParsedEvent } from 'headrace/events'
import { byDestination, byPipeline, byPool, byPromise, headersOf } from './flows.js'

const IN_FLIGHT = 64
const agent = new http.Agent({ keepAlive: true, maxSockets: 16 })
const BASE = 'bare Pool.request'

export const cases = {
  [BASE]: ({ url }) => byPromise(IN_FLIGHT, byPool(url)),
  'headrace, validate(Event)': ({ url }) => byPipeline([url], Event, IN_FLIGHT),
  'headrace, validate(ParsedEvent)': ({ url }) => byPipeline([url], ParsedEvent, IN_FLIGHT),
  'headrace, destination.send': ({ url }) => byDestination(url, IN_FLIGHT),
  'node fetch': ({ url }) =>
    byPromise(IN_FLIGHT, async (body) => {
      await (await fetch(url, { method: 'POST', headers: headersOf(body), body })).text()
    }),
  'axios, keep-alive agent': ({ url }) =>
    byPromise(IN_FLIGHT, (body) => axios.post(url, body, { headers: headersOf(body), httpAgent: agent })),
  'got, keep-alive agent': ({ url }) =>
    byPromise(IN_FLIGHT, (body) =>
      got.post(url, { body, headers: headersOf(body), agent: { http: agent }, retry: { limit: 0 } }),
    ),
}

const OWN = Object.keys(cases).filter((name) => name.startsWith('headrace'))
const OTHERS = Object.keys(cases).filter((name) => name !== BASE && !OWN.includes(name))
const plan = { ports: 1, requests: 1, units: 500 }
const limits = {
  'headrace, validate(Event)': 1.2,
  'headrace, validate(ParsedEvent)': 1.1,
  'headrace, destination.send': 1.05,
}

export const plans = [
  { ...plan, cases: [BASE, ...OWN], rounds: 120, warmUp: 60, limits },
  // Each of them alone with the base: the others would pay for its garbage.
  ...OTHERS.map((name) => ({ ...plan, cases: [BASE, name], rounds: 20, warmUp: 8 })),
]
