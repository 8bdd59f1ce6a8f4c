import t from 'tap'
import { simulated } from '../../support/simulated.ts'

for (const distribution of ['edge', 'manager'] as const) {
  t.test(
    `mode ${distribution}: a response of several nodes is cached until a write concerns one of them`,
    async (t) => {
      const settings = { cluster: { distribution }, cache: { ttl: { cluster: '1h' }, endpoints: {} } }
      const { simulator, edge } = await simulated(
        t,
        { agents: 10, distributed: distribution === 'manager' },
        { settings },
      )
      const ask = async (request: string, body?: string) => {
        const [method = 'GET', path = ''] = request.split(' ')
        const type = body === undefined ? {} : { 'content-type': 'application/xml' }
        const headers = { authorization: edge.authorization('admin'), ...type }
        const response = await fetch(edge.url + path, { method, headers, ...(body !== undefined && { body }) })
        const { error, data } = (await response.json()) as { error: number; data: Record<string, unknown> }
        return { error, data, hit: / hit\b|;hit\b/.test(response.headers.get('cache-status') ?? '') }
      }
      const path = '/cluster/master,worker-1/info'
      const warm = async () => {
        await ask(`GET ${path}`)
        t.equal((await ask('GET /cluster/worker-1,master/info')).hit, true, 'one key for any order of the names')
      }

      await warm()
      const explained = (await ask(`GET /cache/explain?url=${encodeURIComponent(path)}`)).data
      t.match(explained, {
        endpoint: 'GET /cluster/:node_ids/info',
        cacheable: true,
        group: 'cluster',
        next: { hit: true, reason: 'fresh' },
      })
      const invalidatedBy = (explained.invalidatedBy as { write: string }[]).map(({ write }) => write)
      for (const write of [
        'PUT /cluster/:node_id/restart',
        'PUT /manager/restart',
        'PUT /cluster/restart',
        'POST /manager/files',
      ])
        t.ok(invalidatedBy.includes(write), write)
      const secret = (await ask(`GET /cache/explain?url=${encodeURIComponent('/cluster/*/configuration')}`)).data
      t.match(secret, { cacheable: false, reason: /keys and credentials/ })

      const rules = '<group name="x"><rule id="100100" level="3"><description>x</description></rule></group>'
      await ask('POST /cluster/worker-1/files?path=etc/rules/x.xml', rules)
      t.equal((await ask(`GET ${path}`)).hit, true, 'a rule does not concern the nodes')
      for (const write of ['PUT /cluster/worker-1/restart', 'PUT /manager/restart', 'PUT /cluster/restart']) {
        await warm()
        t.equal((await ask(write)).error, 0, write)
        t.equal((await ask(`GET ${path}`)).hit, false, write)
      }
      await warm()
      const main = '<ossec_config><global><email_notification>no</email_notification></global></ossec_config>'
      t.equal((await ask('POST /cluster/worker-1/files?path=etc/ossec.conf&overwrite=true', main)).error, 0)
      t.equal((await ask(`GET ${path}`)).hit, false, 'the main configuration of one node does')
      await warm()
      await ask('DELETE /cache/cluster')
      t.equal((await ask(`GET ${path}`)).hit, false, 'its cache group')
      t.strictSame(simulator.thrown, [])
    },
  )
}
