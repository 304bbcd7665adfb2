// Takes a burst of calls in a process of its own: `burstProcess.js SENDER GIVEN COUNT`. It tells its parent what the burst needed: the peak of
// the process's memory, the longest time that the loop stood still after the calls, how long the calls took, and how long it all took.
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuNow } from './measure.js'
import { hostCalls, senders } from './senders.js'

const [name, given, count] = process.argv.slice(2)
const { track, ended } = await senders[name](JSON.parse(given))
const inputs = hostCalls()
const total = Number(count)

/**
 * The longest time between two turns of a timer of one millisecond. On a shared machine a process also stands still because others run, so
 * no gap counts for more than the CPU time that was used in it.
 */
const stallWatch = () => {
  let last = performance.now()
  let used = cpuNow()
  let longest = 0
  const look = () => {
    const now = performance.now()
    const cpu = cpuNow()
    longest = Math.max(longest, Math.min(now - last, (cpu - used) / 1_000))
    last = now
    used = cpu
  }
  const timer = setInterval(look, 1)
  return () => {
    look()
    clearInterval(timer)
    return longest
  }
}

// A connection and warm code, as in a program that has been running for a while.
for (let at = 0; at < 2_000; at++) track(inputs[at % inputs.length])
await ended()
await sleep(50)

const start = performance.now()
for (let at = 0; at < total; at++) track(inputs[at % inputs.length])
const called = performance.now()
const stalled = stallWatch()
await ended()
const end = performance.now()

const megabytes = (process.resourceUsage().maxRSS * 1_024) / 1e6
process.send({ megabytes, stall: stalled(), calls: called - start, seconds: (end - start) / 1_000 })
process.disconnect()
process.exit()
