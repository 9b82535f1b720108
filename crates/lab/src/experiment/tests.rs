//! Files that are read, and files that are refused.

mod flow_parameters;

use super::*;

const SOUND: &str = r#"paper = "sigcomm"
figure = "figure 19"
caption = "A caption."
claim = "A claim."
takes = "1s"

[scenario.end-of-congestion]
rtt = "85ms"
packet = "1000B"
lost_one_in = 100
lead_in = "20s"
ends_at = "10s"
until = "13s"

[[panel]]
curves = "rate"
x = "time (s)"
y = "rate"

[[check]]
name = "increase"
low = 0.08
high = 0.15
source = "figure 19"
"#;

fn error(text: &str) -> String {
    let read = Definition::read(Path::new("experiments/e.toml"), text);
    read.unwrap_err().to_string()
}

fn with(from: &str, to: &str) -> String {
    assert!(SOUND.contains(from));
    SOUND.replace(from, to)
}

#[test]
fn a_sound_file_is_read() {
    let definition = Definition::read(Path::new("e.toml"), SOUND).unwrap();
    assert_eq!(definition.seeds, 1);
    assert_eq!(definition.clock, ClockKind::Virtual);
    assert_eq!(definition.checks[0].low, Some(0.08));
}

#[test]
fn an_error_names_file_line_key_and_what_would_be_right() {
    let message = error(&with("\"85ms\"", "\"85\""));
    assert!(
        message.starts_with("experiments/e.toml:8: rtt: "),
        "{message}"
    );
    assert!(message.contains("such as \"50ms\""), "{message}");

    let message = error(&with("lost_one_in", "lost_one_out"));
    assert!(message.starts_with("experiments/e.toml:10: "), "{message}");
    assert!(
        message.contains("lost_one_out") && message.contains("`lost_one_in`"),
        "{message}"
    );

    let message = error(&with("packet = \"1000B\"\n", ""));
    assert!(message.starts_with("experiments/e.toml:7: "), "{message}");
    assert!(message.contains("packet"), "{message}");
}

#[test]
fn an_impossible_number_is_an_error_at_load() {
    let message = error(&with("\"85ms\"", "\"0s\""));
    assert_eq!(message, "experiments/e.toml:8: rtt: rtt must be above 0");
    let message = error(&with("low = 0.08", "low = 0.2"));
    assert!(message.starts_with("experiments/e.toml:22: "), "{message}");
    let message = error(&with("low = 0.08\nhigh = 0.15\n", ""));
    assert!(
        message.contains("a check needs low, high or both"),
        "{message}"
    );
    let message = error(&with("takes = \"1s\"", "takes = \"1s\"\nseeds = 0"));
    assert_eq!(message, "experiments/e.toml:6: seeds: from 1 to 1000 seeds");
}

#[test]
fn a_brace_that_is_not_closed_is_an_error_at_load() {
    let message = error(&with("takes = ", "notes = \"{increase\"\ntakes = "));
    assert!(
        message.starts_with("experiments/e.toml:5: notes: "),
        "{message}"
    );
    assert!(message.contains("quotes metrics as {metric}"), "{message}");
}

#[test]
fn what_is_wrong_is_told_where_it_stands_and_not_where_its_like_does() {
    let bottlenecks = r#"paper = "sigcomm"
figure = "1"
caption = "A caption."
claim = "A claim."
takes = "1s"
[scenario.timeline]
packet = "1000B"
tcp = { variant = "sack", min_rto = "200ms", clock = "0s", delayed_ack = true }
start_spread = "1s"
jitter = 1.0
shown = ["0s", "20s"]
measured = ["10s", "20s"]
drawn = "1s"
ratio_timescales = []
group = [
  { name = "TFRC", protocol = "tfrc", count = 1, start = "0s" },
  { name = "TCP", protocol = "tcp", count = 1, start = "0s" },
]
case = [
  { name = "a", rtt = "20ms", rate = "1Mb/s", queue = { drop-tail = { packets = 9 } } },
  { name = "b", rtt = "20ms", rate = "2Mb/s", queue = { drop-tail = { packets = 8 } } },
]
[[panel]]
curves = "cov"
x = "x"
y = "y"
[[panel]]
curves = "cov"
x = "x"
y = "y"
y_range = [0.0, 1.0]
[[check]]
name = "utilisation_a"
low = 0.5
source = "Evenkeel"
"#;
    assert!(Definition::read(Path::new("e.toml"), bottlenecks).is_ok());
    for (from, to, expected) in [
        (
            "packets = 8",
            "packets = 0",
            "21: packets: packets must be at least 1",
        ),
        (
            "{ packets = 8 }",
            "8",
            "21: drop-tail: invalid type: integer `8`, expected a table: { key = value, … }",
        ),
        (
            "min_rto = \"200ms\"",
            "min_rto = \"0s\"",
            "8: min_rto: min_rto must be above 0, or a clock above 0",
        ),
        (
            "2Mb/s",
            "2MB/s",
            "21: rate: invalid value: string \"2MB/s\"",
        ),
        (
            "2Mb/s",
            "0Mb/s",
            "21: rate: invalid value: string \"0Mb/s\"",
        ),
        ("rate = \"2Mb/s\", ", "", "21: case: missing field `rate`"),
        (
            "\"b\"",
            "\"a\"",
            "21: name: name must be another in each case",
        ),
        (
            "\"TCP\"",
            "\"tfrc\"",
            "17: name: name must be another in each group",
        ),
        (
            "\"tcp\", count = 1",
            "\"tcp\", count = 9999999999",
            "17: count: ",
        ),
        (
            "\"tcp\", count = 1",
            "\"sctp\", count = 1",
            "17: protocol: unknown variant",
        ),
        ("[0.0, 1.0]", "[1.0, 0.0]", "31: y_range: a range is"),
        ("[0.0, 1.0]", "[1.0]", "31: y_range: "),
        ("low = 0.5\n", "", "32: high: a check needs"),
        ("low = 0.5", "low = nan", "34: low: a check needs"),
        ("paper = \"sigcomm\"\n", "", "1: missing field `paper`"),
        ("timeline]", "timelien]", "6: timelien: unknown variant"),
        ("takes = ", "takes ", "5: key with no value"),
    ] {
        assert!(bottlenecks.contains(from), "{from}");
        let message = error(&bottlenecks.replacen(from, to, 1));
        let wanted = format!("experiments/e.toml:{expected}");
        assert!(message.starts_with(&wanted), "{message}\nnot {wanted}");
    }
}

#[test]
fn the_real_half_is_the_scenario_with_what_the_test_bed_changes() {
    let experiment = |real: &str| {
        let text = with("[[panel]]", &format!("{real}\n[[panel]]"));
        Experiment {
            id: "e".into(),
            definition: Definition::read(Path::new("e.toml"), &text).unwrap(),
            text,
            folder: PathBuf::new(),
            settings: Vec::new(),
        }
    };
    assert!(experiment("").real().unwrap().is_none());
    let real = experiment("[real]\nuntil = \"20s\"\n")
        .real()
        .unwrap()
        .unwrap();
    assert_eq!(
        (real.id.as_str(), real.definition.clock),
        ("e-real", ClockKind::Real)
    );
    assert!(format!("{:?}", real.definition.scenario).contains("until: Time(20s)"));
    let message = experiment("[real]\nspeed = 3\n")
        .real()
        .unwrap_err()
        .to_string();
    assert!(
        message.starts_with("e: [real]: ") && message.contains("speed"),
        "{message}"
    );
}

#[test]
fn each_half_is_held_to_its_own_checks() {
    let own = "[[check]]\nname = \"late\"\nhigh = 1.0\nclock = \"real\"\nsource = \"Evenkeel\"\n";
    let text = with("[[panel]]", &format!("[real]\n\n{own}\n[[panel]]"));
    let text = text.replace("low = 0.08", "clock = \"virtual\"\nlow = 0.08");
    let names = |half: ClockKind| {
        let definition = Definition::changed(&text, Path::new(""), half, &[]).unwrap();
        let checks = definition.checks.into_iter();
        checks.map(|check| check.name).collect::<Vec<_>>()
    };
    assert_eq!(names(ClockKind::Virtual), ["increase"]);
    assert_eq!(names(ClockKind::Real), ["late"]);
}

#[test]
fn what_would_be_right_is_said_without_the_names_of_types() {
    for (from, to, right) in [
        (
            "lost_one_in = 100",
            "lost_one_in = -1",
            "lost_one_in: invalid value: integer `-1`, expected a whole number from 0 on",
        ),
        (
            "low = 0.08",
            "low = \"0.08\"",
            "low: invalid type: string \"0.08\", expected a number",
        ),
        (
            "takes =",
            "seeds = -5\ntakes =",
            "expected a whole number from 0 to 4294967295",
        ),
        (
            "takes =",
            "requires = \"p\"\ntakes =",
            "expected a list in brackets",
        ),
        (
            "until =",
            "tfrc = 5\nuntil =",
            ":13: tfrc: invalid type: integer `5`, expected a table: { key = value, … }",
        ),
    ] {
        let said = error(&with(from, to));
        assert!(said.ends_with(right), "{said}");
    }
    let changed = |setting: &str| {
        let settings = [setting.to_owned()];
        Definition::changed(SOUND, Path::new(""), ClockKind::Virtual, &settings)
    };
    let said = changed("tfrc=5").unwrap_err();
    assert!(
        said.ends_with("expected a table: { key = value, … }"),
        "{said}"
    );
}

#[test]
fn settings_change_parameters_and_their_errors_name_them() {
    let set = |setting: &str| {
        Definition::changed(
            SOUND,
            Path::new(""),
            ClockKind::Virtual,
            &[setting.to_owned()],
        )
    };
    assert!(set("rtt=200ms").is_ok());
    assert!(set("lost_one_in=50").is_ok());
    assert!(set("rtt=0s").unwrap_err().contains("above 0"));
    assert!(set("rtt=200").unwrap_err().contains("a time"));
    assert!(set("speed=3").unwrap_err().contains("speed"));
    assert!(set("rtt").unwrap_err().contains("key=value"));
    assert!(set("rtt.x=1").unwrap_err().contains("no table"));
}

#[test]
fn settings_that_fit_only_together_stand_in_any_order_and_the_first_that_is_wrong_is_named() {
    let read = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(|of| (*of).to_owned()).collect();
        Experiment::read(Path::new("e.toml"), SOUND.to_owned(), &settings)
            .map(|experiment| experiment.settings)
            .map_err(|error| error.to_string())
    };
    // The end of the file's own run is 13 s.
    for settings in [["ends_at=20s", "until=30s"], ["until=30s", "ends_at=20s"]] {
        assert_eq!(read(&settings).unwrap(), settings);
    }
    let named = |settings: &[&str]| read(settings).unwrap_err();
    let alone = named(&["ends_at=20s"]);
    assert!(alone.starts_with("--set ends_at=20s: "), "{alone}");
    assert_eq!(named(&["ends_at=20s", "rtt=90ms"]), alone);
    assert_eq!(named(&["rtt=90ms", "ends_at=20s"]), alone);
    let unknown = named(&["ends_at=20s", "until=30s", "speed=3", "rtt=90ms"]);
    assert!(unknown.starts_with("--set speed=3: "), "{unknown}");
}

#[test]
fn a_check_of_every_seed_has_one_bound_and_one_metric() {
    let every = |more: &str| {
        with(
            "low = 0.08\nhigh = 0.15\n",
            &format!("every_seed = true\n{more}\n"),
        )
    };
    let read = |more| Definition::read(Path::new("e.toml"), &every(more));
    assert!(read("low = 0.08").is_ok());
    for wrong in ["low = 0.08\nhigh = 0.15", "low = 0.08\nover = \"other\""] {
        assert!(
            error(&every(wrong)).contains("either low or high"),
            "{wrong}"
        );
    }
}
