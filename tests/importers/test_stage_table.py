"""Tables of stages."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ckschedule.costs import Chain, Stage, StaticMemory, Variant
from ckschedule.errors import DocumentError, InvalidModelError
from ckschedule.importers import import_stage_table

Write = Callable[[str], Path]

HEADER = "name,output,forward,saved,backward\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "net.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_table_is_a_chain(write: Write) -> None:
    """Input first, loss last, empty cells for defaults."""
    path = write(
        "\ufeffname,output,forward,saved,backward,gradient,needs_input\n"
        "input,16,,,,,\n"
        '"conv, first",8,3,20,6,,false\n'
        " relu , 8 ,1,0,1,4,\n"
        "\n"
        "loss,0,2,0,5,,\n"
    )
    first = Variant(saved=20, backward=6, needs_input=False)
    assert import_stage_table(path) == Chain(
        name="net",
        input=16,
        stages=[
            Stage(name="conv, first", output=8, forward=3, variants=(first,)),
            Stage(
                name="relu",
                output=8,
                forward=1,
                gradient=4,
                variants=(Variant(saved=0, backward=1),),
            ),
        ],
        loss=Stage(
            name="loss", output=0, forward=2, variants=(Variant(saved=0, backward=5),)
        ),
    )


def test_the_input_may_be_given_with_the_call(write: Write) -> None:
    """As may what no table holds."""
    path = write(HEADER + "a,1,2,3,4\n")
    static = StaticMemory(parameters=5)
    chain = import_stage_table(path, input=7, static=static, time_unit="step")
    assert (chain.input, chain.static, chain.time_unit) == (7, static, "step")


def test_every_optional_column_reaches_its_field(write: Write) -> None:
    """Columns in any order."""
    path = write(
        "backward_transient,forward_transient,recorded_forward,transient,"
        "parameter_gradient,needs_output," + HEADER + "30,31,32,33,9,0,a,1,2,3,4\n"
    )
    (stage,) = import_stage_table(path, input=0).stages
    variant = stage.variants[0]
    assert (stage.transient, stage.parameter_gradient) == (33, 9)
    assert (variant.backward_transient, variant.forward_transient) == (30, 31)
    assert (variant.forward, variant.needs_output) == (32, False)


def test_a_row_without_backward_is_frozen(write: Write) -> None:
    """A prefix that is not trained."""
    path = write(HEADER + "a,1,2,,\nb,1,2,3,4\n")
    assert import_stage_table(path, input=1).frozen_prefix == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "column 'name' is missing"),
        ("name,output\n", "column 'forward' is missing"),
        (
            "name;output;forward;saved;backward\n",
            "unknown column .*separated by commas",
        ),
        ("name," + HEADER, "column 'name' occurs twice"),
        (HEADER, "no stages"),
        (HEADER + "loss,0,0,0,0\n", "no stages"),
        (HEADER + "a,1,2,3\n", r"line 2: 4 cells under 5 columns"),
        (HEADER + ",1,2,3,4\n", "line 2, column 'name'"),
        (
            HEADER + "a,1.5,2,3,4\n",
            r"line 2 \('a'\), column 'output': '1.5' is a fraction",
        ),
        (HEADER + "a,1,2,-3,4\n", "column 'saved': '-3' is negative"),
        (HEADER + "a,1,2,1e9,4\n", "column 'saved': '1e9' is no whole number"),
        (HEADER + "a,1,2,12 MB,4\n", "column 'saved': '12 MB' has a unit; .* bytes"),
        (HEADER + "a,1,2,3,7ms\n", "column 'backward': '7ms' has a unit; .* ticks"),
        (HEADER + f"a,1,2,3,{'9' * 5000}\n", "more than 19 digits"),
        (HEADER + "a,1,2,3,٤\n", "column 'backward'"),
        (HEADER + "a,1,,3,4\n", "column 'forward': the cell is empty"),
        (HEADER + "a,1,2,3,\n", "column 'backward': the cell is empty"),
        (HEADER + "input,1,2,,\n", "column 'forward': the input has only"),
        (HEADER + "input,1,,,\na,1,2,3,4\n", "leave out input=1"),
        (HEADER + 'a,"1,2,3,4\n', "line 2: unexpected end of data"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named(
    write: Write, text: str, reason: str
) -> None:
    """Row, column and value."""
    with pytest.raises(DocumentError, match=reason):
        import_stage_table(write(text), input=1)


def test_the_row_of_the_input_may_have_zeros(write: Write) -> None:
    """As spreadsheets write them."""
    assert import_stage_table(write(HEADER + "input,7,0,0,0\na,1,2,3,4\n")).input == 7


def test_a_name_may_hold_any_character(write: Write) -> None:
    """Line ends within quotes, and the separators that only Unicode knows."""
    path = write(HEADER + '"a\u2028b\nc",1,2,3,4\n')
    assert import_stage_table(path, input=1).stages[0].name == "a\u2028b\nc"


def test_a_flag_is_true_or_false(write: Write) -> None:
    """And nothing in between."""
    path = write("needs_input," + HEADER + "maybe,a,1,2,3,4\n")
    with pytest.raises(DocumentError, match="column 'needs_input': 'maybe' is no flag"):
        import_stage_table(path, input=1)


def test_a_table_needs_an_input(write: Write) -> None:
    """The message says where to write it."""
    with pytest.raises(DocumentError, match="first row named 'input' with these bytes"):
        import_stage_table(write(HEADER + "a,1,2,3,4\n"))


def test_numbers_that_make_no_chain_are_refused(write: Write) -> None:
    """With the file before the model's own message."""
    path = write("transient," + HEADER + "0,a,1,2,3,4\n")
    with pytest.raises(
        InvalidModelError, match=r"net\.csv: stage 1 \('a'\): transient"
    ):
        import_stage_table(path, input=1)
