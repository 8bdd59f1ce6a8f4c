/** Clients of the v4 contract list the stored responses of both contracts, in the form of their contract. */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { bothPorts } from './both-ports.ts'

t.test('the list can be paged, sorted, searched, filtered and cut to fields, through each replica', async (t) => {
  const { v3, v4 } = await bothPorts(t)
  await v3(0, '/agents?limit=2')
  await v4(1, '/agents?limit=2')
  await v4(1, '/groups')
  const urls = ['v3:/agents?limit=2&offset=0', 'v4:/agents?', 'v4:/groups?']
  // A replica lists a new response of another one some milliseconds after it was stored.
  for (const at of [0, 1])
    await eventually(async () => (await v4(at, '/cache')).body.data.total_affected_items === urls.length)
  for (const at of [0, 1]) {
    const list = async (query: string) => {
      const { status, body } = await v4(at, `/cache${query}`)
      t.equal(status, 200, `${at} ${query}: ${body.detail}`)
      const { data } = body
      t.match(body, { error: 0, message: 'All selected stored responses were returned' })
      t.match(data, { total_failed_items: 0, failed_items: [] })
      return { urls: data.affected_items.map(({ url }) => String(url)), total: data.total_affected_items, data }
    }
    const all = await list('?sort=url')
    t.equal(all.total, 3)
    for (const [nth, url] of urls.entries()) t.ok(all.urls[nth]?.startsWith(url), `${all.urls[nth]} is ${url}`)
    t.match(all.data.affected_items[1], {
      key: /^[\w-]{43}$/,
      group: 'agents',
      endpoint: 'v4:/agents',
      tags: ['cache', 'cache:agents', 'cache:v4:/agents'],
      size: Number,
      age: Number,
      timeLeft: Number,
      hits: Number,
      fetchTime: Number,
    })
    t.strictSame((await list('?sort=-url&limit=1&offset=1')).urls, [all.urls[1]])
    t.strictSame((await list('?limit=2')).data.affected_items.length, 2)
    t.strictSame((await list('?search=groups')).urls, [all.urls[2]])
    t.strictSame((await list('?search=-groups&sort=url')).urls, all.urls.slice(0, 2), 'a leading - excludes')
    t.strictSame((await list('?search=!groups')).urls, [], 'as at the manager, ! is a letter like others')
    t.strictSame((await list('?endpoint=/agents')).urls, [all.urls[1]], 'a path is one of the contract of the port')
    t.strictSame((await list('?endpoint=v4:/agents')).urls, [all.urls[1]])
    t.strictSame((await list('?endpoint=v3:/agents')).urls, [all.urls[0]])
    t.strictSame((await list('?group=rules')).total, 0)
    t.strictSame((await list('?tag=collection:groups&sort=url')).urls, all.urls.slice(1))
    t.strictSame((await list('?select=url&sort=url&limit=1')).data.affected_items, [{ url: all.urls[0] }])
    const groups = await v4(at, '/cache/groups')
    t.match(groups.body.data, { affected_items: [{ name: 'agents', count: 3 }], total_affected_items: 1 })
  }
  const pretty = await v4(0, '/cache/groups?pretty=true')
  t.match(pretty.text, /^\{\n {3}"data": \{\n/)
})

t.test('both ports show one configuration, each with the endpoints of its contract', async (t) => {
  const { v3, v4 } = await bothPorts(t)
  const own = (await v3(0, '/cache/config')).body.data as Record<string, object>
  const { data } = (await v4(0, '/cache/config')).body
  t.equal(data.total_affected_items, 1)
  const [shown] = data.affected_items
  const { endpoints, groups, ...others } = own
  t.match(shown, others)
  t.match(shown.groups, { agents: { ttlMs: 5000 } })
  t.match(groups, { agents: { ttlMs: 5000 } })
  t.ok(Object.keys(endpoints ?? {}).every((name) => name.startsWith('/')))
  t.ok(Object.keys(shown.endpoints).every((name) => name.startsWith('v4:/')))
  t.equal(shown.endpoints['v4:/manager/info'].ttlMs, 10_000)
})
