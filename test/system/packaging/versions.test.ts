/** One version: every file that names the release names the same one. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'

const read = (path: string) => readFileSync(path, 'utf8')

t.test('all files name the same release', async (t) => {
  const { version } = JSON.parse(read('package.json')) as { version: string }
  const lock = JSON.parse(read('package-lock.json')) as { version: string; packages: { '': { version: string } } }
  t.strictSame([lock.version, lock.packages[''].version], [version, version], 'package-lock.json')
  t.match(parse(read('config/helm/manager-edge/Chart.yaml')), { version, appVersion: version }, 'Chart.yaml')
  t.match(read('Dockerfile'), `org.opencontainers.image.version="${version}"`, 'Dockerfile')
  t.match(read('config/kubernetes/manager-edge.yaml'), `manager-edge:${version}"`, 'the manifest')
  for (const path of ['docs/installation.md', 'docs/production.md']) {
    const named = [...read(path).matchAll(/manager-edge[_-](\d+\.\d+\.\d+)/g)].map(([, found]) => found)
    t.strictSame([...new Set(named)], [version], path)
  }
  const released = [...read('CHANGELOG.md').matchAll(/^## \[(\d+\.\d+\.\d+)\]/gm)].map(([, found]) => found)
  t.equal(released[0], version, 'CHANGELOG.md')
})
