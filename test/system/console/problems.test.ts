/** The problems of the edge on every view, in the title of the page and on the icon of its tab. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { Problems } from '../../../src/status/problem-types.ts'
import { eventually } from '../../support/eventually.ts'
import { accessibilityViolations, openConsole, startBrowser } from './browser.ts'
import { startConsoleEdge } from './edge.ts'

t.test('the console shows problems on every view while they last', async (t) => {
  const edge = await startConsoleEdge({}, { reloads: true })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const { page, complaints, screenshot } = await openConsole(browser, edge.operationsUrl)
  const titled = (start: string) => eventually(async () => (await page.title()).startsWith(start))
  const icon = () => page.locator('link[rel="icon"]').getAttribute('href')
  const banner = page.locator('.problems[role=status]')
  const strip = page.getByRole('region', { name: /^Nodes/ })

  await strip.getByText('worker-1').waitFor()
  await titled('Now')
  t.equal(await banner.innerText(), '', 'no problem')
  t.match(await strip.innerText(), /worker-1\s+0 \/ 4\s+0 queued/)
  const plainIcon = await icon()

  await edge.simulator.faults.set('worker-1', { nodeDown: true })
  await eventually(async () => {
    await (await edge.get('/cluster/worker-1/info')).text()
    return (await page.title()).startsWith('(1) Now')
  })
  await banner.getByText(/Since/).waitFor()
  t.match(
    await banner.innerText(),
    /worker-1 is down\..*Calls fail until a probe succeeds\..*Since \d\d:\d\d:\d\d\..*Open Nodes/s,
  )
  await strip.getByText(/ejected|failing/).waitFor()
  t.match(decodeURIComponent((await icon()) ?? ''), /^data:image\/svg\+xml,.*>1<\/text>/)

  const file = join(edge.folder, 'edge.yaml')
  const settings = await readFile(file, 'utf8')
  await writeFile(file, `${settings}\naudit:\n  file: audit.log\n`)
  await titled('(2) Now')
  for (const name of ['Cache', 'Nodes', 'Requests']) {
    await page.getByRole('link', { name, exact: true }).click()
    await page.getByRole('heading', { level: 1, name }).waitFor()
    t.match(await banner.innerText(), /worker-1 is down.*take effect after a restart only.*audit\.file/s, name)
  }
  t.strictSame(await accessibilityViolations(page), [])
  await screenshot('problems')
  const authorization = edge.authorization('operator')
  const response = await fetch(`${edge.operationsUrl}/api/problems`, { headers: { authorization } })
  const { problems } = (await response.json()) as Problems
  t.strictSame(
    problems.map(({ kind }) => kind),
    ['nodeUnreachable', 'pendingRestart'],
    'the API lists the same problems',
  )

  await edge.simulator.faults.clear()
  await titled('(1) Requests')
  t.notMatch(await banner.innerText(), /worker-1/)
  await writeFile(file, settings)
  await titled('Requests')
  t.equal(await icon(), plainIcon, 'the icon has no number any more')
  t.strictSame(complaints, [])
})
