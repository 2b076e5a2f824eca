/** Evidence and checks of the steps of a workflow file, in real git repositories. */
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'vitest'
import { blocks, read } from '../docs/markdown.js'
import type { Ended, Sandbox } from './dogear.js'
import { sandbox } from './dogear.js'

const boxes: Array<Sandbox> = []

afterEach(() => {
  for (const box of boxes.splice(0)) box.remove()
})

const IDENTITY = 'export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b.c'

/** A repository with one commit and a workflow file. */
const repository = async (
  workflow: string
): Promise<Sandbox & { readonly git: (words: string) => Promise<string> }> => {
  const box = sandbox()
  boxes.push(box)
  const git = async (words: string): Promise<string> => {
    const { code, stdout, stderr } = await box.shell(`${IDENTITY}; git ${words}`)
    assert.equal(code, 0, stderr)
    return stdout.trim()
  }
  await git('init --quiet --initial-branch=main')
  box.write('.git/info/exclude', '.bin\nlog\n')
  box.write('w.yml', workflow)
  await git('add -A')
  await git('commit --quiet -m first')
  return { ...box, git }
}

const EXPORTS = {
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@b.c',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@b.c'
}

const dogear = (box: Sandbox, ...words: ReadonlyArray<string>): Promise<Ended> =>
  box.dogear(words, { environment: EXPORTS })

const ok = (ended: Ended): Ended => {
  assert.equal(ended.code, 0, ended.stdout + ended.stderr)
  return ended
}

const COMMITTING = `name: w
steps:
  - wave: work
    concurrency: 1
    groups:
      one:
        shell: echo one >> log; git commit --allow-empty --quiet -m one
        expect: { commits: 1, cleanTree: true }
      two:
        shell: echo two >> log; git commit --allow-empty --quiet -m two && git rev-parse HEAD
        capture: commit
        commits: ["\${commit}"]
  - name: tell
    shell: echo tell >> log
`

/** The units that ran since the last call. */
const ran = (box: Sandbox): ReadonlyArray<string> => {
  const lines = box.read('log').trim().split('\n')
  box.write('log', '')
  return lines.filter((line) => line !== '')
}

describe('a group that made a commit', () => {
  test('a group whose commit was lost runs again and is named before anything starts, and its sibling stays completed', async () => {
    const box = await repository(COMMITTING)
    ok(await dogear(box, 'run', 'w.yml', '--id', 'r'))
    assert.deepEqual(ran(box), ['one', 'two', 'tell'])
    await box.git('reset --quiet --hard HEAD~1')
    await box.git('reflog expire --expire=now --all')
    await box.git('gc --quiet --prune=now')
    const { stdout } = ok(await dogear(box, 'plan', 'r'))
    assert.match(stdout, /skip +one +completed/)
    assert.match(stdout, /run +two +evidence is missing: commit [0-9a-f]{40}/)
    const { stderr, stdout: json } = ok(await dogear(box, 'resume', 'r', '--json'))
    const { ran_again: again } = JSON.parse(json) as {
      readonly ran_again: ReadonlyArray<Readonly<Record<string, string>>>
    }
    assert.deepEqual(
      again.map(({ unit, reason }) => [unit, reason]),
      [
        ['work/two', 'EvidenceMissing'],
        ['tell', 'EarlierStepRunsAgain']
      ]
    )
    assert.match(again[0]?.['why'] ?? '', /^evidence is missing: commit [0-9a-f]{40}$/)
    assert.match(
      stderr,
      /^Completed before, running again:\n {2}work\/two: evidence is missing: commit [0-9a-f]{40}\n {2}tell: the result of "work" may differ\nExecuting step 1\/2: work\/two/m
    )
    assert.deepEqual(ran(box), ['two', 'tell'])
  })

  test.each([
    ['reset --quiet --hard HEAD~1', 'a reset'],
    ['commit --quiet --amend --allow-empty -m other', 'an amended commit']
  ])('a commit that HEAD no longer contains raises a question: git %s', async (rewrite) => {
    const box = await repository(COMMITTING)
    ok(await dogear(box, 'run', 'w.yml', '--id', 'r'))
    assert.deepEqual(ran(box), ['one', 'two', 'tell'])
    await box.git(rewrite)
    const { code, stderr } = await dogear(box, 'resume', 'r', '--yes')
    assert.equal(code, 4)
    assert.match(
      stderr,
      /"work\/two" completed, but its evidence changed since: commit [0-9a-f]{40} is not in the history of HEAD\n/
    )
    assert.match(stderr, /^ {2}dogear resume r --confirm work\/two=keep --yes$/m)
    assert.doesNotMatch(stderr, /overwrite/)
    const forced = await dogear(box, 'plan', 'r', '--restart-wave', 'work')
    assert.match(forced.stdout, /^This would make commit [0-9a-f]{40} of work\/two again\.$/m)
    assert.doesNotMatch(forced.stdout, /overwrite/)
    assert.deepEqual(ran(box), [])
    if (rewrite.startsWith('reset')) {
      ok(await dogear(box, 'resume', 'r', '--confirm', 'work/two=again'))
      assert.deepEqual(ran(box), ['two', 'tell'])
    } else {
      const kept = ok(await dogear(box, 'resume', 'r', '--confirm', 'work/two=keep', '--json'))
      assert.match(kept.stderr, /^Kept with changes: HEAD in place of commit [0-9a-f]{40} of work\/two$/m)
      assert.deepEqual(ran(box), [])
    }
    assert.equal(ok(await dogear(box, 'resume', 'r')).stderr, 'Run r: nothing left to do\n')
  })

  test('a group stays completed when other commits follow its commit', async () => {
    const box = await repository(COMMITTING)
    ok(await dogear(box, 'run', 'w.yml', '--id', 'r'))
    await box.git('commit --quiet --allow-empty -m later')
    assert.match(ok(await dogear(box, 'resume', 'r')).stderr, /nothing left to do/)
  })

  test('a step that made too many commits fails, and its error says how many were expected', async () => {
    const box = await repository(COMMITTING.replace('-m one', '-m one; git commit --allow-empty --quiet -m more'))
    const { code, stderr } = await dogear(box, 'run', 'w.yml', '--id', 'r')
    assert.equal(code, 1)
    assert.match(stderr, /error: it ran, but a check failed: it made 2 commits, not 1/)
  })
})

describe('the working tree', () => {
  test('an unclean working tree fails a step that expects a clean one, and the state folder does not make it unclean', async () => {
    const dirty = 'steps:\n  - shell: echo x > left.txt\n  - shell: "true"\n    expect: { cleanTree: true }\n'
    const box = await repository(`name: w\n${dirty}`)
    const { code, stderr } = await dogear(box, 'run', 'w.yml', '--id', 'r', '--home', 'state')
    assert.equal(code, 1)
    assert.match(stderr, /error: it ran, but a check failed: the working tree is not clean: left\.txt$/m)
    await box.git('add left.txt')
    await box.git('commit --quiet -m left')
    ok(await dogear(box, 'resume', 'r', '--home', 'state'))
  })
})

describe('commands around a step', () => {
  test('the checks before and after a step see its variables, and their failures are reported', async () => {
    const box = await repository(`name: w
input: { out: made.txt }
steps:
  - shell: echo step >> log; echo x > "$out"
    before: ['echo before >> log', [test, '!', -e, '\${out}']]
    after: test -s "$out"
    artifacts: ['\${out}']
`)
    ok(await dogear(box, 'run', 'w.yml', '--id', 'r'))
    assert.deepEqual(ran(box), ['before', 'step'])
    const again = await dogear(box, 'resume', 'r', '--from-step', 'step-1')
    assert.equal(again.code, 1)
    assert.match(again.stderr, /error: not started, because a check failed: test ! -e \$\{out\}: exit code 1/)
    assert.deepEqual(ran(box), ['before'])
  })

  test('in a pipe a failed check fails the step and lists every violation', async () => {
    const box = await repository('name: w\nsteps:\n  - shell: "true"\n    artifacts: [a, b]\n    after: exit 3\n')
    const { code, stderr } = await dogear(box, 'run', 'w.yml', '--id', 'r')
    assert.equal(code, 1)
    assert.match(stderr, /error: it ran, but a check failed: a is missing; b is missing; exit 3: exit code 3/)
  })

  test('onCheckFailure: continue lets a step continue after failed checks, with a warning', async () => {
    const box = await repository(
      'name: w\nsteps:\n  - shell: "true"\n    after: exit 3\n    onCheckFailure: continue\n'
    )
    const { stderr } = ok(await dogear(box, 'run', 'w.yml', '--id', 'r'))
    assert.match(stderr, /warning: step-1: exit 3: exit code 3; continuing anyway/)
  })

  test('a failed check announces a retry only if one follows', async () => {
    const step = "shell: 'true', after: exit 3, onCheckFailure: retry, retry: { attempts: 2, delay: 1ms }"
    for (const [steps, retries] of [
      [`{ ${step} }`, 1],
      [`{ ${step}, idempotent: false }`, 0]
    ] as const) {
      const box = await repository(`name: w\nsteps: [${steps}]\n`)
      const { code, stderr } = await dogear(box, 'run', 'w.yml', '--id', 'r')
      assert.equal(code, 1)
      assert.match(stderr, /warning: step-1: exit 3: exit code 3\n/)
      assert.equal(stderr.match(/retrying/gi)?.length ?? 0, retries, stderr)
    }
  })
})

describe('the text about missing evidence', () => {
  test('plan reports missing evidence with the text in the guide', async () => {
    const guide = read('docs/guide/evidence.md')
    const [workflow = ''] = blocks(guide, 'yaml')
    const [story = ''] = blocks(guide, 'console')
    const box = await repository(workflow)
    box.write('.git/info/exclude', '.bin\nlog\nout\n')
    ok(await dogear(box, 'run', 'w.yml', '--id', 'site-1'))
    const [, remove = '', shown] = /^\$ (rm .+)\n\$ dogear plan site-1\n([^]+)$/.exec(story) ?? []
    await box.shell(remove)
    const { stdout } = ok(await dogear(box, 'plan', 'site-1'))
    assert.equal(stdout.trimEnd(), shown?.trimEnd())
  })
})

describe('a resume', () => {
  test('a resume is refused if it cannot read commits, and changes nothing', async () => {
    const box = await repository(COMMITTING)
    ok(await dogear(box, 'run', 'w.yml', '--id', 'r'))
    box.write('.git/HEAD', 'ref: refs/heads/main\n')
    box.write('.git/config', '[core\n')
    const { code, stderr } = await dogear(box, 'resume', 'r')
    assert.equal(code, 5)
    assert.match(
      stderr,
      /^dogear: Cannot read the evidence in .+: git .+\(GIT\); fix its permissions \(or git\)\. Nothing was changed/
    )
  })
})

describe('a resume that runs completed steps again', () => {
  const making = (groups: number): string => `name: w
steps:
  - wave: make
    groups:
${Array.from({ length: groups }, (_, index) => `      g${index}: { shell: 'echo x > out${index}', artifacts: [out${index}] }`).join('\n')}
  - { name: pack, shell: 'cat out* > pack' }
`

  test('a resume lists the steps that run again with their reasons before it starts, and in its JSON result', async () => {
    const box = await repository(making(2))
    ok(await dogear(box, 'run', 'w.yml', '--id', 'r'))
    await box.shell('rm out1')
    const plan = JSON.parse(ok(await dogear(box, 'plan', 'r', '--json')).stdout) as {
      readonly decisions: ReadonlyArray<{ readonly unit: string; readonly missing?: unknown }>
    }
    assert.deepEqual(plan.decisions.find(({ unit }) => unit === 'make/g1')?.missing, ['out1'])
    const { stderr, stdout } = ok(await dogear(box, 'resume', 'r', '--json'))
    const lines = stderr.split('\n')
    const first = lines.indexOf('Completed before, running again:')
    assert.deepEqual(lines.slice(first, first + 4), [
      'Completed before, running again:',
      '  make/g1: evidence is missing: out1',
      '  pack: the result of "make" may differ',
      'Executing step 1/2: make/g1'
    ])
    const { ran_again: again } = JSON.parse(stdout) as { readonly ran_again: unknown }
    assert.deepEqual(again, [
      { unit: 'make/g1', reason: 'EvidenceMissing', why: 'evidence is missing: out1' },
      { unit: 'pack', reason: 'EarlierStepRunsAgain', why: 'the result of "make" may differ' }
    ])
    const { stdout: nothing } = ok(await dogear(box, 'resume', 'r', '--json'))
    assert.deepEqual((JSON.parse(nothing) as { readonly ran_again: unknown }).ran_again, [])
    assert.match(ok(await dogear(box, 'show', 'r', '--history')).stdout, /Rewound +make\/g1.*: evidence is missing\n/)
  })

  test('a resume counts the groups of a wide wave beyond the first ten', async () => {
    const box = await repository(making(30))
    ok(await dogear(box, 'run', 'w.yml', '--id', 'r'))
    await box.shell('rm out*')
    const { stderr } = ok(await dogear(box, 'resume', 'r'))
    assert.match(stderr, /^ {2}make\/g9: .*\n {2}… and 21 more\nExecuting/m)
  })
})

describe('a resume that runs everything again', () => {
  test('a resume that runs everything again needs no evidence, even if none can be read', async () => {
    const box = await repository(COMMITTING)
    ok(await dogear(box, 'run', 'w.yml', '--id', 'r'))
    await box.shell('mv .git elsewhere && printf "exit 9" > .bin/git && chmod +x .bin/git')
    assert.equal((await dogear(box, 'plan', 'r')).code, 5)
    const plan = ok(await dogear(box, 'plan', 'r', '--from-step', 'work'))
    assert.match(plan.stdout, /1\/2 +run +work +as requested/)
    await box.shell('mv elsewhere .git && rm .bin/git')
    box.write('.git/config', '[core\n')
    const forced = await dogear(box, 'resume', 'r', '--force', '--yes')
    assert.equal(forced.code, 1)
    assert.match(forced.stderr, /Executing step 1\/2: work\/one/)
  })
})

describe('the checks of a wave', () => {
  test('an edit of the checks of a completed wave counts as a change of the wave', async () => {
    const wave =
      'name: w\nsteps:\n  - wave: a\n    after: test -e out\n    groups: { one: { shell: touch out } }\n  - shell: "false"\n'
    const box = await repository(wave)
    assert.equal((await dogear(box, 'run', 'w.yml', '--id', 'r')).code, 1)
    box.write('w.yml', wave.replace('-e out', '-s out'))
    const { code, stderr } = await dogear(box, 'resume', 'r')
    assert.equal(code, 4)
    assert.match(stderr, /"a" differs from its recorded definition/)
  })
})
