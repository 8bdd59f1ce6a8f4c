// Writes where packages come from, as a statement of in-toto with SLSA provenance (slsa.dev/provenance/v1), and verifies it:
// node packaging/provenance.mjs FILE-OR-LAYOUT…                       prints the statement
// node packaging/provenance.mjs --key PRIVATE.pem FILE-OR-LAYOUT…     prints it signed, in an envelope (DSSE)
// node packaging/provenance.mjs --verify FILE [--public-key PUBLIC.pem] FILE-OR-LAYOUT…
// node packaging/provenance.mjs [--key PRIVATE.pem] --check           exits with an error if a statement would fail
// A layout is the folder of an OCI image: its digests are those of its manifests. The same packages give the same statement.
import { execFileSync } from 'node:child_process'
import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'

const PAYLOAD_TYPE = 'application/vnd.in-toto+json'
const PREDICATE_TYPE = 'https://slsa.dev/provenance/v1'
/** The project has no address. BUILDER_ID names the system that has built, for example a job of continuous integration. */
const BUILD_TYPE = 'https://manager-edge.invalid/build/package/v1'
const builder = process.env.BUILDER_ID ?? 'https://manager-edge.invalid/builder/unnamed'

try {
  main()
} catch (error) {
  fail(error.message)
}

function main() {
  const { values: options, positionals: paths } = parseArgs({
    allowPositionals: true,
    options: {
      key: { type: 'string' },
      check: { type: 'boolean' },
      verify: { type: 'string' },
      'public-key': { type: 'string' },
    },
  })
  if (paths.length === 0 && !options.check) fail('name the packages')
  if (options.verify !== undefined) return verifyPackages(readStatement(options.verify, options['public-key']), paths)
  const statement = JSON.stringify(statementOf(paths))
  const text = options.key === undefined ? statement : JSON.stringify(envelopeOf(statement, options.key))
  if (!options.check) console.log(text)
}

function fail(reason) {
  console.error(reason)
  process.exit(1)
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Runs a step that needs a file of the user. Exits with `reason` if it fails. */
function attempt(step, reason) {
  try {
    return step()
  } catch (error) {
    return fail(`${reason}: ${error.message}`)
  }
}

/**
 * Returns the digest of a file, or the digests of the image and of the bill of materials in a layout. Exits if a file of
 * them has another digest.
 */
function digestsOf(path) {
  if (!statSync(path).isDirectory()) return [sha256(readFileSync(path))]
  const readBlob = ({ digest }) => {
    const bytes = attempt(
      () => readFileSync(join(path, 'blobs', digest.replace(':', '/'))),
      `${path}: ${digest} is missing`,
    )
    if (`sha256:${sha256(bytes)}` !== digest) fail(`${path}: ${digest} is damaged`)
    return bytes
  }
  const index = join(path, 'index.json')
  const { manifests } = attempt(() => JSON.parse(readFileSync(index, 'utf8')), `${path} is no image layout`)
  return manifests.map((manifest) => {
    const { config, layers } = JSON.parse(readBlob(manifest))
    for (const each of [config, ...layers]) readBlob(each)
    return manifest.digest.replace('sha256:', '')
  })
}

function subjectsOf(path) {
  return digestsOf(path).map((digest) => ({ name: basename(path), digest: { sha256: digest } }))
}

function statementOf(packages) {
  const commit = attempt(
    () => readFileSync('dist/commit', 'utf8'),
    'run "npm run build" in the repository first',
  ).trim()
  const git = (...args) => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd()
  const noCommit = 'the statement names a commit: build in a clone of the repository'
  const head = attempt(() => git('rev-parse', 'HEAD'), noCommit)
  // Files of the packages may differ from those of the commit.
  const changes = git('status', '--porcelain').split('\n').filter(Boolean)
  if (head !== commit)
    changes.unshift(`dist is built from ${commit || 'no commit'}, not from ${head}: run "npm run build"`)
  if (changes.length > 0) {
    console.error('warning: the sources differ from the commit; the statement says "modified":')
    console.error(changes.slice(0, 10).join('\n'))
  }
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: packages.flatMap(subjectsOf),
    predicateType: PREDICATE_TYPE,
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: { commit, command: 'npm ci && npm run package' },
        internalParameters: { sourceDateEpoch: process.env.SOURCE_DATE_EPOCH, architecture: process.arch },
        resolvedDependencies: [
          { name: 'sources', digest: { gitCommit: commit }, annotations: { modified: changes.length > 0 } },
          { name: 'package-lock.json', digest: { sha256: sha256(readFileSync('package-lock.json')) } },
          {
            name: 'node',
            digest: { sha256: sha256(readFileSync(process.execPath)) },
            annotations: { version: process.version },
          },
        ],
      },
      runDetails: { builder: { id: builder } },
    },
  }
}

/** Returns the bytes that are signed: https://github.com/secure-systems-lab/dsse, "PAE". */
function signedBytes(payload) {
  const head = `DSSEv1 ${PAYLOAD_TYPE.length} ${PAYLOAD_TYPE} ${payload.length} `
  return Buffer.concat([Buffer.from(head), payload])
}

/** Keys of the curves 25519 and 448 have a digest of their own. */
function algorithmOf(key) {
  return /^ed\d+$/.test(key.asymmetricKeyType) ? null : 'sha256'
}

function envelopeOf(statement, file) {
  const payload = Buffer.from(statement)
  const { keyid, sig } = attempt(() => {
    const key = createPrivateKey(readFileSync(file))
    const bytes = sign(algorithmOf(key), signedBytes(payload), key)
    return {
      keyid: sha256(createPublicKey(key).export({ type: 'spki', format: 'der' })),
      sig: bytes.toString('base64'),
    }
  }, `${file} must be a private key (Ed25519, ECDSA or RSA, PEM without a passphrase)`)
  return { payloadType: PAYLOAD_TYPE, payload: payload.toString('base64'), signatures: [{ keyid, sig }] }
}

/** Returns the statement of a file. Exits if a public key is given and did not sign it. */
function readStatement(file, publicKey) {
  const content = attempt(() => JSON.parse(readFileSync(file, 'utf8')), `${file} must be a statement`)
  const payload = content.payload === undefined ? undefined : Buffer.from(content.payload, 'base64')
  if (publicKey !== undefined) {
    const key = attempt(() => createPublicKey(readFileSync(publicKey)), `${publicKey} must be a public key (PEM)`)
    const isSigned = (content.signatures ?? []).some(({ sig }) =>
      verify(algorithmOf(key), signedBytes(payload), key, Buffer.from(sig, 'base64')),
    )
    if (!isSigned) fail(`${file} is not signed by ${publicKey}`)
  } else console.error(`warning: no --public-key: ${file} may be from any author`)
  const statement = payload === undefined ? content : JSON.parse(payload.toString())
  if (statement.predicateType !== PREDICATE_TYPE) fail(`${file} must be a statement of ${PREDICATE_TYPE}`)
  return statement
}

/** Each manifest of a layout must be in the statement: a client may choose any of them. */
function verifyPackages({ subject, predicate }, paths) {
  const known = subject.map((each) => each.digest.sha256)
  for (const path of paths) {
    const digests = digestsOf(path)
    const unknown = digests.find((digest) => !known.includes(digest))
    if (digests.length === 0) fail(`${path} contains no image`)
    if (unknown !== undefined) fail(`${path}: the statement has no package with the digest ${unknown}`)
    console.log(`${basename(path)}: commit ${predicate.buildDefinition.externalParameters.commit}`)
  }
}
