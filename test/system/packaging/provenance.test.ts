/** The command that builds all packages, and the statement of where they come from. */
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import t from 'tap'
import { installed } from '../../support/installed.ts'

interface Subject {
  readonly name: string
  readonly digest: { readonly sha256: string }
}

installed({ variable: 'RPMBUILD', names: ['rpmbuild'], package: 'rpm' })
const openssl = installed({ variable: 'OPENSSL', names: ['openssl'], package: 'openssl' })
const folder = mkdtempSync(join(tmpdir(), 'edge-provenance-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const run = (file: string, ...args: string[]): string =>
  execFileSync(file, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, QUICK: '1', BUILDER_ID: 'https://ci.example/jobs/1' },
  })
const provenance = (...args: string[]) => run(process.execPath, 'packaging/provenance.mjs', ...args)

/** Writes a pair of keys. Returns their paths. */
function keys(name: string, pair: ReturnType<typeof generateKeyPairSync>) {
  const paths = { key: join(folder, `${name}.pem`), publicKey: join(folder, `${name}.pub.pem`) }
  writeFileSync(paths.key, pair.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(paths.publicKey, pair.publicKey.export({ type: 'spki', format: 'pem' }))
  return paths
}

t.test('npm run package builds all packages with a signed statement of their digests', async (t) => {
  const curve = keys('curve', generateKeyPairSync('ec', { namedCurve: 'P-256' }))
  const output = join(folder, 'packages')
  const printed = run('packaging/build', output, curve.key).trim().split('\n').slice(-5)
  const [deb = '', rpm = '', layout = '', sbom = '', file = ''] = printed
  t.strictSame(printed.map((path) => basename(path)).sort(), readdirSync(output).sort())
  const { payload, payloadType, signatures } = JSON.parse(readFileSync(file, 'utf8'))
  const statement = JSON.parse(Buffer.from(payload, 'base64').toString())

  await t.test('it is a statement of in-toto with SLSA provenance', async (t) => {
    const commit = readFileSync('dist/commit', 'utf8').trim()
    t.match(statement, { _type: 'https://in-toto.io/Statement/v1', predicateType: 'https://slsa.dev/provenance/v1' })
    const { buildDefinition, runDetails } = statement.predicate
    t.match(buildDefinition.externalParameters, { commit, command: /npm run package$/ })
    t.equal(runDetails.builder.id, 'https://ci.example/jobs/1')
    const sum = (path: string) => run('sha256sum', path).split(' ')[0]
    const [sources, lock, node] = buildDefinition.resolvedDependencies
    t.equal(sources.digest.gitCommit, commit)
    const isModified = run('git', 'status', '--porcelain') !== '' || run('git', 'rev-parse', 'HEAD').trim() !== commit
    t.equal(sources.annotations.modified, isModified)
    t.equal(lock.digest.sha256, sum('package-lock.json'))
    t.equal(node.digest.sha256, sum(process.execPath))
  })

  await t.test('sha256sum finds the same digests', async (t) => {
    const [manifest] = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')).manifests
    const files = [deb, rpm, join(layout, 'blobs', manifest.digest.replace(':', '/')), sbom]
    const sums = run('sha256sum', ...files)
      .trim()
      .split('\n')
    t.strictSame(
      statement.subject.map((each: Subject) => each.digest.sha256),
      sums.map((line) => line.split(' ')[0]),
    )
    t.strictSame(
      statement.subject.map((each: Subject) => each.name),
      [deb, rpm, layout, sbom].map((path) => basename(path)),
    )
  })

  await t.test('openssl verifies the signature', async (t) => {
    const text = Buffer.from(payload, 'base64')
    const signed = join(folder, 'signed')
    writeFileSync(signed, `DSSEv1 ${payloadType.length} ${payloadType} ${text.length} ${text}`)
    writeFileSync(join(folder, 'signature'), Buffer.from(signatures[0].sig, 'base64'))
    const args = ['dgst', '-sha256', '-verify', curve.publicKey, '-signature', join(folder, 'signature')]
    t.equal(run(openssl, ...args, signed), 'Verified OK\n')
    appendFileSync(signed, ' ')
    t.throws(() => run(openssl, ...args, signed))
  })

  await t.test('the command verifies each package, and refuses other keys and changed packages', async (t) => {
    const other = keys('other', generateKeyPairSync('ed25519'))
    const check = (publicKey: string, ...paths: string[]) =>
      provenance('--verify', file, '--public-key', publicKey, ...paths)
    t.equal(check(curve.publicKey, deb, rpm, layout, sbom).match(/: commit [0-9a-f]{40}$/gm)?.length, 4)
    t.throws(() => check(other.publicKey, deb), /is not signed by/)
    appendFileSync(sbom, ' ')
    t.throws(() => check(curve.publicKey, sbom), /no package with the digest/)
    const damaged = join(folder, 'damaged')
    cpSync(layout, damaged, { recursive: true })
    const { layers } = JSON.parse(
      readFileSync(join(damaged, 'blobs/sha256', statement.subject[2].digest.sha256), 'utf8'),
    )
    appendFileSync(join(damaged, 'blobs', layers[0].digest.replace(':', '/')), ' ')
    t.throws(() => check(curve.publicKey, damaged), /is damaged/)

    // Without a key, and with one of another kind.
    const plain = join(folder, 'plain.json')
    writeFileSync(plain, provenance(deb))
    t.match(provenance('--verify', plain, deb), 'commit')
    t.throws(() => provenance('--verify', plain, '--public-key', curve.publicKey, deb), /is not signed by/)
    writeFileSync(plain, provenance('--key', other.key, deb))
    t.match(provenance('--verify', plain, '--public-key', other.publicKey, deb), 'commit')
  })
})
