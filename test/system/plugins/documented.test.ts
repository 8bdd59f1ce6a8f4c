/** The example of docs/plugins.md, as it is written there. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { textOf } from '../../support/documents/list.ts'
import { simulated } from '../../support/simulated.ts'
import { pluginFolder } from './folder.ts'

t.test('the example of the documents adds a header and a route', async (t) => {
  const text = textOf('docs/plugins.md')
  const blockOf = (type: string) => new RegExp(`\`\`\`${type}\\n(.*?)\`\`\``, 's').exec(text)?.[1] ?? ''
  const folder = await pluginFolder(t)
  await writeFile(join(folder, 'team.mjs'), blockOf('js'))
  const [plugin] = parse(blockOf('yaml')).plugins
  t.equal(plugin.file, 'team.mjs')
  const plugins = [{ ...plugin, file: join(folder, plugin.file) }]
  const { edge } = await simulated(t, { workers: 1, agents: 3 }, { settings: { plugins } })
  const headers = { authorization: edge.authorization('reader') }
  const added = await fetch(`${edge.url}/team/nodes`, { headers })
  t.strictSame(await added.json(), { caller: 'reader', nodes: ['master', 'worker-1'] })
  for (const path of ['/team/nodes', '/agents?limit=1'])
    t.equal((await fetch(`${edge.url}${path}`, { headers })).headers.get('x-owner'), 'soc', path)
  t.ok(blockOf('js').trimEnd().split('\n').length <= 20, 'in 20 lines')
})
