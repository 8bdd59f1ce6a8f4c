import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import t from 'tap'
import { openConsole, startBrowser } from './browser.ts'
import { makeBusy, startConsoleEdge } from './edge.ts'

t.test('what an operator does all day', async (t) => {
  const edge = await startConsoleEdge()
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await makeBusy(edge, 1)
  const status = async (url: string) => {
    const answer = await edge.ask(url)
    await answer.text()
    return answer.headers.get('cache-status') ?? ''
  }

  await t.test('purges a group after it was told what that costs', async (t) => {
    const { page, picture, complaints, close } = await openConsole(browser, edge.operationsUrl)
    t.match(await status('/rules?limit=3'), /; ?hit/)
    await page.goto(`${edge.operationsUrl}/console/#/cache/groups`)
    await page.getByRole('button', { name: 'Purge the group rules' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/1 entry, .* Filling it again costs/).waitFor()
    const command = await dialog.locator('code').innerText()
    t.equal(command, `curl -u 'operator' -X DELETE '${edge.url}/cache/rules'`)
    await picture('purge')
    t.match(await status('/rules?limit=3'), /; ?hit/, 'a preview drops nothing')
    await dialog.getByRole('button', { name: 'Purge 1 entry' }).click()
    await dialog.getByText(/^Dropped: 1 entry/).waitFor()
    t.notMatch(await status('/rules?limit=3'), /; ?hit/, 'it is gone')
    t.match(await status('/decoders?limit=3'), /; ?hit/, 'the others stay')
    await page.keyboard.press('Escape')
    t.equal(await page.getByRole('dialog').count(), 0)
    t.strictSame(complaints, [])
    await close()
  })

  await t.test('purges one entry from where it is read', async (t) => {
    const { page, complaints, close } = await openConsole(browser, edge.operationsUrl)
    t.match(await status('/cluster/nodes'), /; ?hit|fwd/)
    await page.goto(`${edge.operationsUrl}/console/#/cache/entries?search=cluster`)
    await page.getByRole('row', { name: '/cluster/nodes' }).click()
    await page.getByRole('button', { name: 'Purge …' }).click()
    const dialog = page.getByRole('dialog', { name: 'Purge one entry' })
    t.match(await dialog.locator('code').innerText(), /\/cache\?key=[A-Za-z0-9_-]{43}'$/)
    await dialog.getByRole('button', { name: 'Purge 1 entry' }).click()
    await dialog.getByText(/^Dropped: 1 entry/).waitFor()
    await page.keyboard.press('Escape')
    await page.getByText(/^0 of \d+ entries/).waitFor()
    t.equal(await page.getByRole('dialog').count(), 0, 'what is gone is not shown any more')
    t.notMatch(await status('/cluster/nodes'), /; ?hit/)
    t.strictSame(complaints, [])
    await close()
  })

  await t.test('makes everything stale, softly', async (t) => {
    const { page, close } = await openConsole(browser, edge.operationsUrl)
    await page.goto(`${edge.operationsUrl}/console/#/cache`)
    await page.getByRole('button', { name: 'Purge everything' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(/make it stale/).check()
    t.match(await dialog.locator('code').innerText(), /cache\?soft=true'$/)
    await dialog.getByRole('button', { name: /^Make stale \d+ entries/ }).click()
    await dialog.getByText(/^Made stale: /).waitFor()
    t.match(await status('/decoders?limit=3'), /; ?hit; ?ttl=-|fwd=stale/, 'it is there, and stale')
    await close()
  })

  await t.test('asks about a URL, and takes its time to write it', async (t) => {
    const { page, close } = await openConsole(browser, edge.operationsUrl)
    await page.goto(`${edge.operationsUrl}/console/#/cache/explain`)
    const field = page.getByLabel('Path and query of a GET')
    await field.pressSequentially('/agents/')
    // The page asks how the edge is, and is drawn anew by the answer.
    for (let beats = 0; beats < 2; beats++) await page.waitForResponse((answer) => answer.url().endsWith('/api/now'))
    await field.pressSequentially('000')
    await field.press('Enter')
    await page.getByText('GET /agents/:agent_id', { exact: true }).waitFor()
    t.equal(await field.inputValue(), '/agents/000')
    await close()
  })

  await t.test('watches requests as they come, some of them, and pauses', async (t) => {
    const { page, close } = await openConsole(browser, edge.operationsUrl)
    await page.goto(`${edge.operationsUrl}/console/#/requests`)
    await page.getByText('live', { exact: true }).waitFor()
    const rows = (name: string) => page.getByRole('rowheader', { name, exact: true })
    const before = await rows('GET /summary/agents').count()
    await status('/summary/agents')
    await rows('GET /summary/agents').nth(before).waitFor()

    const endpoint = page.getByLabel('Endpoint')
    for (const letter of '/agents/:agent_id') {
      await endpoint.press(letter)
      await status('/summary/agents')
    }
    await page.waitForURL(/endpoint=%2Fagents%2F%3Aagent_id/)
    t.equal(await endpoint.inputValue(), '/agents/:agent_id', 'what is written stays while requests come in')
    await status('/agents/001')
    await rows('GET /agents/:agent_id').first().waitFor()
    await rows('GET /summary/agents').first().waitFor({ state: 'detached' })
    t.pass('others are not shown')
    const shown = await page.locator('main').innerText()
    t.notMatch(shown, '/agents/001', 'the route, never the URL')

    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('paused', { exact: true }).waitFor()
    const held = await rows('GET /agents/:agent_id').count()
    await status('/agents/002')
    await page.waitForTimeout(600)
    t.equal(await rows('GET /agents/:agent_id').count(), held, 'what is shown stays while it pauses')
    await close()
  })
})

t.test('says plainly what does not answer', async (t) => {
  const edge = await startConsoleEdge({ cluster: { discover: false } })
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await makeBusy(edge, 1)
  const { page, picture, close } = await openConsole(browser, edge.operationsUrl)
  await page.getByText('ready', { exact: true }).waitFor()
  await page.locator('.figures').waitFor()
  await edge.close()
  await page.getByText(/The edge does not answer\. What you see is \d+(\.\d+)? s old\./).waitFor({ timeout: 20_000 })
  await page.getByText('no contact', { exact: true }).waitFor()
  t.equal(await page.locator('.figures').count(), 1, 'what was known stays')
  await picture('no-contact')
  await close()
})

t.test('stops asking where it may not any more, and says so', async (t) => {
  const edge = await startConsoleEdge({ access: { limits: { failedLogins: 5 } } })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const users = join(edge.folder, 'users')
  const before = await readFile(users, 'utf8')
  const { page, close } = await openConsole(browser, edge.operationsUrl)
  await page.goto(`${edge.operationsUrl}/console/#/nodes`)
  await page.getByText('ready', { exact: true }).waitFor()
  const refused: number[] = []
  page.on('response', (answer) => {
    if (answer.status() >= 400) refused.push(answer.status())
  })
  await writeFile(users, before.replace(/operator:.*/, `operator:${await hash('changed', 4)}`))
  await page.getByText(/You are not signed in any more: reload the page\./).waitFor({ timeout: 20_000 })
  await page.getByText('no contact', { exact: true }).waitFor()
  await page.waitForTimeout(5000)
  t.ok(refused.length < 4, `a page that is left open does not lock its user out: ${refused.join(' ')}`)
  const authorization = `Basic ${btoa('operator:changed')}`
  t.equal((await fetch(`${edge.operationsUrl}/api/now`, { headers: { authorization } })).status, 200)
  await close()
})
