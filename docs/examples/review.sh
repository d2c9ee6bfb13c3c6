#!/bin/sh
# The gate and the review, for a CI that runs a script: review.sh REGISTRY [BASE].
# BASE is the commit before the change (zeros: there was none); without one, HEAD's first parent.
# Leaves registry-review.md, .xml (JUnit), .sarif and .codequality.json in the working folder, and
# exits as the review does.
set -eu
registry=$1
base=${2:-}
case "$base" in
  '') range=HEAD ;;
  *[!0]*)
    # After a force-push the host may still have what no branch leads to any more.
    git cat-file -e "$base^{commit}" 2>/dev/null || git fetch -q --no-tags origin "$base" || true
    range=$base...HEAD ;;
  *) range=$base..HEAD ;;
esac
exec registry-tool review --registry "$registry" \
  --write md=registry-review.md --write junit=registry-review.xml \
  --write sarif=registry-review.sarif \
  --write codequality=registry-review.codequality.json -- "$range"
