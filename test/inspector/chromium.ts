/** Chromium over its debugging protocol: a page that is driven and asked by a test. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { WebSocket } from 'undici'

/** The program, or empty if there is none. */
export const chromium: string = (() => {
  try {
    return execFileSync('sh', ['-c', 'command -v chromium chromium-browser google-chrome | head -1'], {
      encoding: 'utf8',
    }).trim()
  } catch {
    return ''
  }
})()

// Answers of the protocol are plain data of many shapes.
type Answer = Record<string, never>

/** Opens a page of its own process. `problems`: what the console and the policy of the page complained about. */
export const openPage = async (url: string) => {
  const folder = mkdtempSync(`${tmpdir()}/headrace-chromium-`)
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-port=0', `--user-data-dir=${folder}`]
  const browser = spawn(chromium, [...flags, 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  const address = await new Promise<string>((resolve, reject) => {
    browser.stderr.on('data', (data: Buffer) => {
      said += data.toString()
      const [, found] = /DevTools listening on (ws:\S+)/.exec(said) ?? []
      if (found !== undefined) resolve(found)
    })
    browser.once('exit', () => reject(new Error(said)))
  })
  const targets = (await (await fetch(`http://${new URL(address).host}/json`)).json()) as ReadonlyArray<{
    readonly type: string
    readonly webSocketDebuggerUrl: string
  }>
  const socket = new WebSocket(targets.find(({ type }) => type === 'page')?.webSocketDebuggerUrl ?? '')
  await new Promise((resolve) => socket.addEventListener('open', resolve))
  const waiting = new Map<number, (answer: Answer) => void>()
  const problems: string[] = []
  let last = 0
  socket.addEventListener('message', ({ data }) => {
    const { id, method, result, error, params } = JSON.parse(String(data)) as Record<string, never>
    if (id !== undefined) waiting.get(id)?.(error ?? result)
    else if (/^(Log.entryAdded|Runtime.(consoleAPICalled|exceptionThrown))$/.test(method))
      problems.push(JSON.stringify(params))
  })
  const call = (method: string, params: object = {}): Promise<Answer> =>
    new Promise((resolve) => {
      waiting.set(++last, resolve)
      socket.send(JSON.stringify({ id: last, method, params }))
    })
  for (const domain of ['Log', 'Runtime', 'Page', 'Accessibility']) await call(`${domain}.enable`)

  /** The value of an expression, which may be a promise. */
  const evaluate = async <T>(expression: string): Promise<T> => {
    const answer = await call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })
    const { result, exceptionDetails } = answer as { result: { value: T }; exceptionDetails?: object }
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
    return result.value
  }
  await call('Page.navigate', { url })

  return {
    problems,
    call,
    evaluate,
    /** Waits until an expression is true, at most ten seconds. */
    until: (expression: string): Promise<void> =>
      evaluate(`new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error('never: ' + ${JSON.stringify(expression)} + document.body.innerText)), 10000)
        const look = () => { if (${expression}) { clearTimeout(late); resolve() } else setTimeout(look, 20) }
        look() })`),
    /** Role and name of everything that a screen reader is told of. */
    controls: async (): Promise<ReadonlyArray<string>> => {
      const { nodes } = (await call('Accessibility.getFullAXTree')) as unknown as {
        nodes: ReadonlyArray<{ ignored: boolean; role?: { value: string }; name?: { value: string } }>
      }
      return nodes.flatMap(({ ignored, role, name }) => (ignored ? [] : [`${role?.value ?? ''}: ${name?.value ?? ''}`]))
    },
    close: async (): Promise<void> => {
      socket.close()
      const gone = once(browser, 'exit')
      browser.kill()
      await gone
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    },
  }
}
