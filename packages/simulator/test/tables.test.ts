import t from 'tap'
import { start } from './ask.ts'

interface Data {
  readonly items: Readonly<Record<string, string>>[]
  readonly totalItems: number
}

t.test('databases answer as a real manager, faults included', async (t) => {
  const now = new Date('2020-03-02T12:30:00Z')
  const { ask } = await start(t, { now: () => now })
  const get = async (url: string) => (await ask(`GET ${url}`)).json?.data as Data
  const errorOf = async (url: string) => (await ask(`GET ${url}`)).json?.error

  await t.test('an alternative in q escapes from filters and from the collection', async (t) => {
    const { totalItems } = await get('/syscollector/001/netaddr?proto=ipv4')
    t.ok(totalItems > 0)
    t.equal((await get('/syscollector/001/netaddr?q=proto=nope,proto=ipv4&iface=nope')).totalItems, totalItems)
    t.equal((await get('/syscollector/001/netaddr?q=(proto=nope,proto=ipv4)&iface=nope')).totalItems, 0)
    t.match((await get('/agents/no_group?q=name=nope,id=0')).items, [{ id: '000' }])
    t.equal((await get('/agents/no_group?q=(name=nope,id=0)')).totalItems, 0)
  })
  await t.test('times are stored as numbers', async (t) => {
    const [file] = (await get('/syscheck/001?limit=1')).items
    const mtime = String(file?.mtime)
    t.equal((await get(`/syscheck/001?search=${mtime.slice(4, 8)}`)).totalItems, 0)
    t.not((await get(`/syscheck/001?search=${Date.parse(`${mtime.replace(' ', 'T')}Z`) / 1000}`)).totalItems, 0)
    t.equal((await get(`/syscheck/001?q=mtime=${mtime.slice(0, 10)}`)).totalItems, 0, 'a day is its first second')
    t.equal((await get('/rootcheck/000?search=2020-')).totalItems, 0)
  })
  await t.test('an unknown status of events is refused wherever it is named', async (t) => {
    for (const query of ['status=outstandi', 'q=status=outstandi', 'q=cis~1;status=x'])
      t.equal(await errorOf(`/rootcheck/000?${query}`), 1603, query)
    t.strictSame(await get('/rootcheck/000?q=status=solved'), await get('/rootcheck/000?status=solved'))
  })
  await t.test('a page has full parts of 20 rows', async (t) => {
    for (const [limit, rows] of [
      [19, 19],
      [21, 40],
      [40, 40],
      [41, 60],
    ] as const)
      t.equal((await get(`/syscheck/001?limit=${limit}&sort=file`)).items.length, rows, `limit ${limit}`)
  })
  await t.test('the manager itself has no times', async (t) => {
    for (const q of ['dateAdd>0s', 'dateAdd<99999d']) {
      const ids = (await get(`/agents?limit=1000&q=${q}`)).items.map(({ id }) => id)
      t.notOk(ids.includes('000'), q)
    }
    t.not((await get('/agents?q=dateAdd<99999d')).totalItems, 0)
  })
  await t.test('nodes select fields before everything else', async (t) => {
    const workers = (await get('/cluster/nodes?q=type=worker')).totalItems
    t.ok(workers > 0)
    t.equal((await get('/cluster/nodes?q=type=worker&select=name')).totalItems, 0)
    t.equal((await get('/cluster/nodes?type=worker&select=name')).totalItems, workers)
    t.equal(await errorOf('/cluster/nodes?select=name&sort=type'), 1403)
  })
})
