import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import type { Fault } from '../../src/testing/faults.ts'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import { headrace, linesOf, steady, track } from './command.ts'

const LIMIT = '4s'

/** By the event that meets it: what the receiver does, and how the event ends. */
const faults: Readonly<Record<string, readonly [fault: Fault, outcome: string, why: string]>> = {
  Hangs: [{ do: 'silence' }, 'expired', 'timeout (no verdict within 4000 ms)'],
  Announces: [{ do: 'early' }, 'expired', 'timeout (no verdict within 4000 ms)'],
  Resets: [{ do: 'reset' }, 'expired', 'network (the connection was reset before an answer came)'],
  HangsUp: [{ do: 'hangUp' }, 'expired', 'network (the connection was closed before an answer came)'],
  Babbles: [{ do: 'garbage' }, 'expired', 'network (the answer is not HTTP: is it https, or another port?)'],
  Boasts: [{ do: 'hugeHeader' }, 'expired', 'network (the answer has more than 16 KiB of headers)'],
  Fails: [{ do: 'status', code: 503 }, 'expired', '503'],
  Refuses: [{ do: 'status', code: 404 }, 'rejected', '404'],
  Redirects: [
    { do: 'redirect', to: 'self' },
    'rejected',
    '307 (redirects are never followed: give the URL that it leads to)',
  ],
  Floods: [{ do: 'hugeBody', code: 200 }, 'delivered', '200'],
  Drips: [{ do: 'slowBody', code: 200, bytesPerSecond: 10 }, 'delivered', '200'],
  Breaks: [{ do: 'truncate', code: 200, at: 100 }, 'delivered', '200'],
  Works: [{ do: 'status', code: 200 }, 'delivered', '200'],
  WorksToo: [{ do: 'status', code: 204 }, 'delivered', '204'],
}

it('has a typed outcome for every way in which a receiver breaks, and the other events go on', async () => {
  const names = Object.keys(faults)
  const receiver = await loopbackReceiver(({ body }) => {
    const { event } = JSON.parse(body.toString()) as { readonly event: string }
    return faults[event]?.[0] ?? { do: 'status', code: 500 }
  })
  onTestFinished(receiver.close)
  const { code, stdout, stderr } = await headrace(
    ['send', '--to', receiver.url, '--timeout', LIMIT, '--retry-for', '0s'],
    { input: names.map((name) => track(name)).join('') },
  )
  const lines = names.map((name, at) => {
    const [, outcome, why] = faults[name] ?? []
    return `${String(outcome).padEnd(10)} line ${String(at + 1).padEnd(4)} track    ${name}  http://127.0.0.1:PORT/ ${String(why)}`
  })
  expect([...linesOf(steady(stdout))].sort()).toEqual(lines.sort())
  expect(code).toBe(3)
  expect(stderr).toContain('14 accepted = 5 delivered + 2 rejected + 7 expired\n')
  expect(receiver.received.length).toBe(names.length)
})

it('a self-signed certificate: no request is sent, whatever the environment says', async () => {
  const pem = (name: string) =>
    readFileSync(fileURLToPath(new URL(`../fixtures/tls/selfSigned.${name}.pem`, import.meta.url)))
  const receiver = await loopbackReceiver([], { tls: { cert: pem('cert'), key: pem('key') } })
  onTestFinished(receiver.close)
  const { code, stdout } = await headrace(['send', '--to', receiver.url], {
    input: track('A'),
    env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
  })
  expect(stdout).toMatch(/^rejected .* certificate \(the certificate is self-signed: give tls\.ca, or/)
  expect(code).toBe(5)
  expect(receiver.received).toEqual([])
})

it('a host that does not exist', async () => {
  const { code, stdout } = await headrace(
    ['send', '--to', 'http://receiver.invalid/', '--retry-for', '0s', '--timeout', LIMIT],
    { input: track('A') },
  )
  expect(stdout).toMatch(
    /^expired .*(the host name does not exist: check its spelling|the name look-up failed|no verdict within)/,
  )
  expect(code).toBe(5)
})
