import t from 'tap'
import { reloadable } from './edge.ts'
import { startProvider } from './issuer.ts'

t.test('token issuers are added, kept, changed and removed without a restart', async (t) => {
  const provider = await startProvider(t)
  const { change, get } = await reloadable(t)
  const statusOf = async (token: string) => (await get('/agents?limit=1', { authorization: `Bearer ${token}` })).status
  const token = provider.tokenOf('carol')
  t.equal(await statusOf(token), 401, 'unknown issuer')

  await change({ 'access.tokens.issuers': [provider.settings] })
  t.equal(await statusOf(token), 200, 'added')
  t.equal(provider.fetches(), 1)

  await change({ 'cache.defaultTtl': '2s', 'access.tokens.lifetime': '60s' })
  t.equal(await statusOf(provider.tokenOf('dave')), 200, 'another reload keeps the issuer')
  t.equal(provider.fetches(), 1, 'and its keys')

  await change({ 'access.tokens.issuers': [{ ...provider.settings, audience: 'another' }] })
  t.equal(await statusOf(token), 401, 'a token that was verified before is checked with the new settings')

  await change({ 'access.tokens.issuers': [provider.settings] })
  t.equal(await statusOf(token), 200)
  await change({ 'access.tokens.issuers': [] })
  t.equal(await statusOf(token), 401, 'removed')
})

t.test('issuers that cannot be used change nothing', async (t) => {
  const provider = await startProvider(t)
  const { change, get, logged } = await reloadable(t, { access: { tokens: { issuers: [provider.settings] } } })
  const authorization = `Bearer ${provider.tokenOf('carol')}`
  await change({ 'access.tokens.issuers': [provider.settings, provider.settings], 'cache.defaultTtl': '9s' })
  t.match(logged('configuration not reloaded, the last valid one stays in use'), [
    { fault: /id\.example is listed twice/ },
  ])
  t.equal((await get('/agents?limit=1', { authorization })).status, 200)
  t.match(await (await get('/cache/config')).json(), { data: { defaultDuration: 750 } })
})
