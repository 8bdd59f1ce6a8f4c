import t from 'tap'
import { stage } from './rows.ts'

t.test('without secrets:read no agent key can be read', async (t) => {
  const at = await stage()
  t.teardown(() => at.close())
  const get = (user: string, path: string, method = 'GET') =>
    fetch(`${at.edge.url}${path}`, { method, headers: { authorization: at.edge.authorization(user) } })

  await t.test('neither as a field nor by a filter or sort', async (t) => {
    const before = at.reached()
    for (const path of [
      '/agents/stats/distinct',
      '/agents/stats/distinct?fields=internal_key',
      '/agents/stats/distinct?fields=os.name',
      '/AGENTS//stats/%64istinct/',
      '/agents?select=id,internal_key',
      '/agents?sort=-internal_key',
      '/agents?sort=+id,INTERNAL_KEY',
      '/agents?q=internal_key~9a',
      '/agents?q=id!=000;(internal%5Fkey~9a)',
      '/agents/no_group?q=internal_key~9a',
      '/agents/groups/default?q=internal_key~9a',
      '/agents/summary/os?q=internal_key~9a',
      '/agents/001?select=internal_key',
    ]) {
      const response = await get('reader', path)
      t.equal(response.status, 403, path)
      t.match(await response.json(), { error: 902, message: /secrets:read/ }, path)
      t.equal((await get('reader', path, 'HEAD')).status, 403, `HEAD ${path}`)
    }
    t.equal(at.reached(), before, 'nothing reached a node')
  })

  await t.test('with secrets:read the key is served', async (t) => {
    t.match(await (await get('admin', '/agents/stats/distinct')).text(), /"internal_key":"[0-9a-f]/)
    t.equal((await get('admin', '/agents?q=internal_key~9a')).status, 200)
    t.equal((await get('reader', '/agents?sort=-id&q=id!=000&select=id')).status, 200, 'other fields are free')
  })
})
