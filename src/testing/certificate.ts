import { generateKeyPairSync, sign } from 'node:crypto'
import type { TlsFault } from './faults.ts'

/** A certificate with its private key, in PEM form. */
export interface TestCertificate {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  /** A receiver with it requires a client certificate of this authority. */
  readonly clientCa?: string | Buffer
}

/** Certificates for tests, in PEM form. All but `wrongName` and `client` are for `localhost` and `127.0.0.1`. */
export interface TestCertificates extends Readonly<Record<TlsFault | 'valid' | 'client', Pair>> {
  /** The authority to trust. It has signed `valid`, `wrongName`, `expired`, and `client` for a client that has to show one. */
  readonly ca: string
}

/** @inline */
interface Pair {
  readonly cert: string
  readonly key: string
}

/** A node of DER: its tag, its length, its contents. */
const der = (tag: number, ...contents: ReadonlyArray<Buffer>): Buffer => {
  const content = Buffer.concat(contents)
  const { length } = content
  // Nothing here is longer than 65,535 bytes.
  const long = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...(length < 128 ? [length] : long)]), content])
}

const sequence = (...contents: ReadonlyArray<Buffer>): Buffer => der(0x30, ...contents)
const octets = (content: Buffer): Buffer => der(0x04, content)
/** `unused` bits at the end do not count. */
const bits = (content: Buffer, unused = 0): Buffer => der(0x03, Buffer.from([unused]), content)
const time = (text: string): Buffer => der(0x17, Buffer.from(text))
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
const yes = der(0x01, Buffer.from([0xff]))

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'))
const version3 = der(0xa0, der(0x02, Buffer.from([2])))

const nameOf = (commonName: string): Buffer =>
  sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(commonName)))))

/** An authority that may sign certificates and nothing else. */
const authority: ReadonlyArray<Buffer> = [
  sequence(oid('551d13'), yes, octets(sequence(yes))),
  sequence(oid('551d0f'), yes, octets(bits(Buffer.from([0x04]), 2))),
]

/** A certificate for these names, for the side of TLS with this purpose. */
const leaf = (purpose: 'server' | 'client', ...names: ReadonlyArray<Buffer>): ReadonlyArray<Buffer> => [
  sequence(oid('551d11'), octets(sequence(...names))),
  sequence(
    oid('551d25'),
    octets(sequence(oid(purpose === 'server' ? '2b06010505070301' : '2b06010505070302'))),
  ),
]

const dnsName = (name: string): Buffer => der(0x82, Buffer.from(name))
const loopback = leaf('server', dnsName('localhost'), der(0x87, Buffer.from([127, 0, 0, 1])))

const pem = (bytes: Buffer): string => {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

let made = 0

/** A certificate on P-256, from 2020 until the end of 2049 or `until`. Without an issuer it signs itself. */
const issue = (
  name: string,
  extensions: ReadonlyArray<Buffer>,
  issuer?: { readonly name: string; readonly key: string },
  until = '491231235959Z',
): Pair => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const fields = sequence(
    version3,
    der(0x02, Buffer.from([++made])),
    ecdsaWithSha256,
    nameOf(issuer?.name ?? name),
    sequence(time('200101000000Z'), time(until)),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const signature = bits(sign('sha256', fields, issuer?.key ?? privateKey))
  return {
    cert: pem(sequence(fields, ecdsaWithSha256, signature)),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

const make = (): TestCertificates => {
  const [name, stranger] = ['headrace test authority', 'unknown test authority']
  const { cert: ca, key } = issue(name, authority)
  const trusted = { name, key }
  return {
    ca,
    valid: issue('localhost', loopback, trusted),
    selfSigned: issue('localhost', loopback),
    unknownCa: issue('localhost', loopback, { name: stranger, key: issue(stranger, authority).key }),
    wrongName: issue('elsewhere.example', leaf('server', dnsName('elsewhere.example')), trusted),
    expired: issue('localhost', loopback, trusted, '210101000000Z'),
    client: issue('client', leaf('client', dnsName('client.example')), trusted),
  }
}

let certificates: TestCertificates | undefined

/**
 * A test authority and certificates that are right, or wrong in one way each. They are made once in a process, with fresh keys, so no key is
 * stored anywhere.
 *
 * @example
 * import { webhook } from 'headrace/sinks/webhook'
 * import { loopbackReceiver, testCertificates } from 'headrace/testing'
 *
 * const { ca, valid } = testCertificates()
 * const receiver = await loopbackReceiver([], { tls: valid })
 * const sink = webhook({ url: receiver.url, tls: { ca } })
 * await receiver.close()
 */
export const testCertificates = (): TestCertificates => (certificates ??= make())
