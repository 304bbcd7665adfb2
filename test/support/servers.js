/**
 * Servers of their own for tests and benches: PostgreSQL, PgBouncer, NATS, in a temporary folder on a free port of loopback. A shell
 * keeps each, and stops and removes it as soon as the process that asked for it has ended, however that ended.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const say = (script) => spawnSync('sh', ['-c', script], { encoding: 'utf8' }).stdout.trim()
const folders = '$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV | tr "\\n" :)'
const found = (name) => say(`PATH=$PATH:/usr/sbin:${folders}; readlink -f "$(command -v ${name})"`)
export const programs = { initdb: found('initdb'), pgbouncer: found('pgbouncer'), nats: found('nats-server') }

let made = 0
/** A port of this process, below those that systems give to connections: nothing takes it while its server is dead. */
export const freePort = async () => {
  const port = 20_000 + ((process.pid * 16 + made++) % 10_000)
  const server = createServer().listen(port, '127.0.0.1')
  const answer = await once(server, 'listening').catch(() => undefined)
  server.close()
  return answer ? port : freePort()
}

const idOf = (flag) => Number(say(`id ${flag} postgres`))
const user = process.getuid() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : {}

/** Runs the script `start` in a folder with these files, and `stop` at the end. */
const kept = async (name, port, files, start, stop) => {
  const folder = mkdtempSync(join(tmpdir(), `headrace-${name}-`))
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text, { mode: 0o755 })
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid)
  const script = `trap '' INT HUP TERM; ${start} && echo up && cat >/dev/null; ${stop}; cd / && rm -rf '${folder}'`
  // Apart from this process's group, so that an interrupt of all of it does not reach the server.
  const child = spawn('sh', ['-c', script], { ...user, cwd: folder, detached: true })
  const ended = once(child, 'exit')
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
  await Promise.race([once(child.stdout, 'data'), ended])
  if (!said.endsWith('up\n')) throw new Error(`${name} did not start: ${said}`)
  for (const each of [child, child.stdin, child.stdout, child.stderr]) each.unref()
  const close = async () => {
    child.ref()
    child.stdin.end()
    await ended
  }
  return { folder, port, url: `postgres://postgres@127.0.0.1:${port}/postgres`, stop: close }
}

export const startPostgres = async ({ syncs = false, settings = [] } = {}) => {
  const port = await freePort()
  const own = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200']
  const sync = syncs ? [] : ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off']
  const bin = dirname(programs.initdb)
  const files = {
    ctl: `#!/bin/sh\nexec '${bin}/pg_ctl' -w -D data -l log "$@" >ctl.log\n`,
    flags: [`port=${port}`, ...own, ...sync, ...settings].map((setting) => `-c ${setting}`).join(' '),
  }
  const init = `'${programs.initdb}' -N -A trust -E UTF8 --locale=C -U postgres data >log`
  const start = `${init} && ./ctl -o "$(cat flags)" start`
  const server = await kept('postgres', port, files, start, './ctl -m immediate stop')
  const given = { ...user, cwd: server.folder, stdio: 'ignore' }
  const restart = async () => {
    const [code] = await once(spawn('./ctl', ['-m', 'immediate', 'restart'], given), 'exit')
    if (code !== 0) throw new Error('PostgreSQL did not start again')
  }
  return { ...server, restart }
}

let shared
/** One for all tests of this process, which does not wait for the disk. */
export const sharedPostgres = () => (shared ??= startPostgres())

const accepts = (port) =>
  new Promise((done) => {
    const socket = connect(port, '127.0.0.1', () => done(true)).on('error', () => done(false))
    socket.on('connect', () => socket.destroy())
  })

export const newSchema = () => `t${process.pid}_${made++}`

/** A PgBouncer before a server. A client has one of its connections while a transaction runs. */
export const startPgbouncer = async (server, connections = 10) => {
  const port = await freePort()
  const ini = `[databases]
* = host=127.0.0.1 port=${server.port} user=postgres
[pgbouncer]
listen_addr=127.0.0.1\nlisten_port=${port}\nunix_socket_dir=\nauth_type=any\npool_mode=transaction
default_pool_size=${connections}\nmax_client_conn=500\nignore_startup_parameters=extra_float_digits,options`
  const start = `{ '${programs.pgbouncer}' -q ini 2>log & p=$!; sleep 0.1; kill -0 $p; }`
  const bouncer = await kept('pgbouncer', port, { ini }, start, 'kill $p; wait $p')
  while (!(await accepts(port))) await new Promise((done) => setTimeout(done, 20))
  return bouncer
}

export const startNats = async () => {
  const port = await freePort()
  const run = `'${programs.nats}' -js -sd . -a 127.0.0.1 -p ${port} 2>log & p=$!`
  const start = `{ ${run}; until grep -q 'is ready' log; do kill -0 $p || break; sleep 0.05; done; kill -0 $p; }`
  return { ...(await kept('nats', port, {}, start, 'kill $p; wait $p')), url: `nats://127.0.0.1:${port}` }
}
