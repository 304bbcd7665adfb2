// Experiments that mostly wait: they run side by side.

const ok = () => () => ({ status: 200 })
const numbered = (count, from = 1) => Array.from({ length: count }, (_, at) => `e-${from + at}`)
const round = (ms) => Math.round(ms)
const secondsOf = (ms) => `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`
const settled = (promise) =>
  Promise.resolve(promise).then(
    (value) => (typeof value === 'string' ? value : 'no error'),
    () => 'rejects',
  )

/** Calls, and says how the call went and what is told later. */
const tracking =
  (peer, say) =>
  (name, more = {}) => {
    try {
      const refused = peer.track(name, { ...more, done: (told) => say({ told: [name, told] }) })
      if (refused !== undefined) say({ refused: [name, refused] })
    } catch {
      say({ threw: name })
    }
  }

const toldOf = (found, name) => found.told?.find(([each]) => each === name)?.[1]

const largestBody = {
  id: 'largestBody',
  title: '60 × 20 KB, flushAt 200: largest body',
  ask: { flushAt: 200 },
  server: ok,
  play: async ({ open, say, sleep }) => {
    const peer = await open()
    for (const name of numbered(60)) tracking(peer, say)(name, { text: 'x'.repeat(20_000) })
    await settled(peer.flush())
    await sleep(2_000)
  },
  cell: ({ server }) => {
    const most = Math.max(0, ...server.requests.map(({ bytes }) => bytes))
    const missing = 60 - server.arrived().size
    return `${most.toLocaleString('en')} B${missing === 0 ? '' : ` (${missing} did not come)`}`
  },
}

const flushArrived = {
  id: 'flushArrived',
  title: '45 events, flushAt 20, arrived when `flush()` settled',
  ask: { flushAt: 20 },
  server: () => () => ({ status: 200, delay: 300 }),
  play: async ({ open, say, sleep }) => {
    const peer = await open()
    for (const name of numbered(45)) peer.track(name)
    await settled(peer.flush())
    say({ flushed: true })
    await sleep(500)
  },
  note: { flushed: (server) => server.arrived().size },
  cell: ({ noted }) => String(noted.flushed ?? 'never settled'),
}

const always500 = {
  id: 'always500',
  title: '500 always, 2 retries where that can be set: attempts (gaps, ms), same id',
  ask: { flushAt: 1, retries: 2, retryDelay: 100 },
  server: () => () => ({ status: 500 }),
  play: async ({ open, sleep }) => {
    const peer = await open()
    peer.track('e-1')
    await sleep(8_000)
  },
  cell: ({ server }) => {
    const posts = server.posts()
    const gaps = posts.slice(1).map(({ at }, index) => round(at - posts[index].at))
    const ids = new Set(posts.map(({ events }) => events[0].id))
    const repeated = posts.length > 1 ? `, ${ids.size === 1 ? 'yes' : 'no'}` : ''
    return `${posts.length}${gaps.length === 0 ? '' : ` (${gaps.join(', ')})`}${repeated}`
  },
}

const retryAfter = {
  id: 'retryAfter',
  title: '429 with `Retry-After: 2`, then 200: wait',
  ask: { flushAt: 1 },
  server: () => (_, before) =>
    before.length === 0 ? { status: 429, headers: { 'retry-after': '2' } } : { status: 200 },
  play: async ({ open, sleep }) => {
    const peer = await open()
    peer.track('e-1')
    await sleep(6_000)
  },
  cell: ({ server }) => {
    const [first, second] = server.posts()
    return second === undefined ? 'no retry within 6 s' : secondsOf(second.at - first.at)
  },
}

const hostDown = {
  id: 'hostDown',
  title: 'host down, default Node',
  ask: { flushEvery: 200 },
  server: undefined,
  plainNode: true,
  play: async ({ open, sleep }) => {
    const peer = await open()
    for (const name of numbered(2)) peer.track(name)
    await sleep(5_000)
  },
  cell: ({ exit }) => (exit === 0 ? 'lives' : `exit ${exit}`),
}

const poison = {
  id: 'poison',
  title: 'one event the server answers 400 to, batches of 5: good ones lost of 29',
  ask: { flushAt: 5 },
  server:
    () =>
    ({ events }) => ({ status: events.some(({ name }) => name === 'e-13') ? 400 : 200 }),
  play: async ({ open, sleep }) => {
    const peer = await open()
    for (let first = 1; first <= 30; first += 5) {
      for (const name of numbered(5, first)) peer.track(name)
      // Some take all that is there, whatever a batch should have.
      await sleep(150)
    }
    await settled(peer.flush())
    await sleep(1_500)
    void settled(peer.flush())
    await sleep(1_000)
  },
  cell: ({ server }) => String(29 - server.taken().size),
}

const closeHung = {
  id: 'closeHung',
  title: 'close with a hung server, 0.7 s allowed',
  ask: { flushAt: 1 },
  server: () => () => undefined,
  seconds: [25, 12],
  play: async ({ open, say, sleep, quick }) => {
    const peer = await open()
    peer.track('e-1')
    await sleep(200)
    const start = performance.now()
    const result = await Promise.race([
      settled(peer.close === undefined ? peer.flush() : peer.close(700)),
      sleep(quick ? 6_000 : 16_000).then(() => 'pending'),
    ])
    say({ closed: [peer.close === undefined ? 'no close; flush' : '', result, performance.now() - start] })
  },
  cell: ({ found }) => {
    const [what, result, ms] = found.closed?.[0] ?? ['', 'ended', 0]
    const words =
      result === 'pending' ? `still pending after ${secondsOf(ms)}` : `${secondsOf(ms)}, ${result}`
    return `${what} ${words}`.trim()
  },
}

const OUTAGE = { whole: 30_000, quick: 10_000 }
const outageOf = (quick) => (quick ? OUTAGE.quick : OUTAGE.whole)

const outage = {
  id: 'outage',
  title: 'outage (503) of 30 s (quick: 10 s), defaults, 50 events before, during and after: taken',
  server: (quick) => {
    let first
    return ({ at }) => {
      first ??= at
      return { status: at - first < outageOf(quick) ? 503 : 200 }
    }
  },
  seconds: [130, 60],
  play: async ({ open, sleep, quick }) => {
    const peer = await open()
    // Four fifths of them within the outage.
    for (const name of numbered(50)) {
      peer.track(name)
      await sleep(outageOf(quick) / 40)
    }
    void settled(peer.flush())
    await sleep(outageOf(quick) * 1.5)
    void settled(peer.flush())
    await sleep(5_000)
  },
  cell: ({ server, exit }) => `${server.taken().size}${exit === 0 ? '' : `, exit ${exit}`}`,
}

export const waiting = [largestBody, flushArrived, always500, retryAfter, hostDown, poison, closeHung, outage]
