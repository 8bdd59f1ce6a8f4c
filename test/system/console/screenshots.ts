/**
 * Takes pictures of every view of the console for people to look at (`npm run screenshots`): at three widths, in light
 * and dark. Two replicas with a Redis stand in front of a simulated cluster with generated requests, and one worker is
 * down; at the end, another one is drained. Ends with code 1 if a view is wider than its page, violates a rule of axe, or logs an error.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { startRedis } from '../../support/redis.ts'
import { readOptions } from '../../support/script-options.ts'
import { openConsole, startBrowser } from './browser.ts'
import { drainAccess, SIMULATED_PASSWORD, startConsoleEdge, urls } from './edge.ts'
import { faultsOf, type Stop, tour } from './tour.ts'

const FOLDER = 'coverage/screenshots'
/** The document shows the page down to the charts and their events. */
const DOCUMENTED = { file: 'now-1440-light.png', path: 'docs/images/console.png', height: 875 }
const HEIGHTS = { 390: 844, 1024: 768, 1440: 900 } as const
const WIDTHS = [390, 1024, 1440] as const
const MAX_SCREENS = 2.5
/** Longest pause between two rounds of requests. */
const MAX_PAUSE_MS = 1000

const drained = (stop: Stop): Stop => ({ ...stop, name: `${stop.name}-drained` })

const { values } = readOptions({
  name: 'screenshots',
  purpose: `Takes pictures of every view of the console at ${WIDTHS.join(', ')} px in light and dark, into ${FOLDER}.`,
  options: {
    only: { kind: 'pattern', meaning: 'take the pictures whose name matches, such as ^nodes-390' },
    seconds: { kind: 'number', meaning: 'generate requests for this long before the first picture; default 60' },
    document: { kind: 'flag', meaning: `write the upper part of ${DOCUMENTED.file} to ${DOCUMENTED.path}` },
  },
})

mkdirSync(FOLDER, { recursive: true })
const faults: string[] = []
const redis = await startRedis()
const settingsOf = (name: string) => ({ access: drainAccess, replica: { name }, cache: { redis: { url: redis.url } } })
const edge = await startConsoleEdge(settingsOf('edge-1'))
const other = await startEdge({
  nodes: edge.simulator.nodes,
  password: SIMULATED_PASSWORD,
  settings: settingsOf('edge-2'),
})
const browser = await startBrowser()
await edge.simulator.faults.set('worker-2', { nodeDown: true })
const traffic = [edge, other].map(generate)
try {
  await new Promise((resolve) => setTimeout(resolve, (values.seconds ?? 60) * 1000))
  await visitAll(tour)
  const address = `${edge.operationsUrl}/api/nodes/worker-1/drain?for=30m&reason=memory`
  const headers = { authorization: edge.authorization('operator'), 'x-edge-console': '1' }
  const response = await fetch(address, { method: 'PUT', headers })
  if (!response.ok) faults.push(`drain: ${await response.text()}`)
  await visitAll(tour.filter(({ name }) => name === 'now' || name === 'nodes').map(drained))
} finally {
  await Promise.all(traffic.map((each) => each.stop()))
  await browser.close()
  await Promise.all([edge.close(), other.close()])
  await redis.close()
}
for (const fault of faults) console.error(fault)
console.log(`${faults.length} faults; pictures in ${FOLDER}`)
process.exit(faults.length === 0 ? 0 : 1)

async function visitAll(stops: readonly Stop[]): Promise<void> {
  for (const width of WIDTHS) for (const colours of ['light', 'dark'] as const) await visit(stops, width, colours)
}

async function visit(stops: readonly Stop[], width: (typeof WIDTHS)[number], colours: 'light' | 'dark'): Promise<void> {
  const options = { width, height: HEIGHTS[width], dark: colours === 'dark' }
  const { page, complaints, close } = await openConsole(browser, edge.operationsUrl, options)
  for (const { name, open } of stops) {
    const picture = `${name}-${width}-${colours}`
    if (values.only?.test(picture) === false) continue
    await open(page, `${edge.operationsUrl}/console/`)
    const file = `${picture}.png`
    const path = join(FOLDER, file)
    const clip = { x: 0, y: 0, width, height: await heightOf(page, HEIGHTS[width]) }
    await page.screenshot({ path, fullPage: true, clip })
    if (values.document && file === DOCUMENTED.file) {
      const { path, height } = DOCUMENTED
      await page.screenshot({ path, fullPage: true, clip: { x: 0, y: 0, width, height } })
    }
    faults.push(...(await faultsOf(page)).map((fault) => `${picture}: ${fault}`))
    console.log(picture)
  }
  faults.push(...complaints.map((complaint) => `${width}-${colours}: ${complaint}`))
  await close()
}

/** Returns the height of a picture: the whole page, up to two and a half screens. A dialog covers one screen. */
async function heightOf(page: Page, screen: number): Promise<number> {
  if ((await page.getByRole('dialog').count()) > 0) return screen
  const height = await page.evaluate<number>('document.documentElement.scrollHeight')
  return Math.min(height, MAX_SCREENS * screen)
}

/** Sends what operators and their tools send: reads of which most hit, joined reads, and errors. */
function generate({ url, authorization }: RunningEdge): { stop(): Promise<void> } {
  let isStopped = false
  const headers = { authorization: authorization('operator') }
  const run = async (): Promise<void> => {
    for (let round = 0; !isStopped; round++) {
      const varied = [
        '/cluster/*/info',
        `/cluster/*/logs?limit=${5 + (round % 20)}&sort=-timestamp`,
        `/agents/${String(round % 40).padStart(3, '0')}`,
        `/rules?limit=20&offset=${20 * (round % 50)}`,
        `/decoders?limit=${4 + (round % 7)}`,
        '/syscollector/000/packages?limit=50',
        '/agents/999',
        '/nothing',
      ]
      for (const path of [...urls, ...urls, ...varied]) await (await fetch(url + path, { headers })).text()
      await new Promise((resolve) => setTimeout(resolve, MAX_PAUSE_MS * Math.random()))
    }
  }
  const running = run()
  return {
    stop: async () => {
      isStopped = true
      await running
    },
  }
}
